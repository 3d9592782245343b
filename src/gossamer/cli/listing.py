"""The commands that list: `config`, `modules`, `scorers` and `crawls`."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from gossamer.cli.output import columns, put_json, put_lines, put_table
from gossamer.cli.parameters import JsonLines, option, with_options
from gossamer.config import StoreAddress, load
from gossamer.config.host_rules import HostPattern, shown_table
from gossamer.config.report import Setting, describe
from gossamer.config.sources import Loaded
from gossamer.config.values import NONE
from gossamer.coordinator.plan import start_urls
from gossamer.display import printable
from gossamer.display.formatting import count, moment, size
from gossamer.download.request_rules import HostSetting, HostSettings
from gossamer.frontier.scorers.loading import SCORERS, is_strict
from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.modules.loading import MODULES, known_options
from gossamer.urls import location, parse_seed
from gossamer.views.crawls import CrawlEntry, crawls_below, crawls_in


def describe_host(loaded: Loaded, host: str) -> list[Setting]:
    """Return what applies to a host, host:port or origin.

    Without a scheme that of a seed of this host counts, or else https.
    """
    seeds = start_urls(loaded.options)
    url = _url_of(host, seeds)
    return [
        Setting(item.key.name, _shown(item), _source(item, loaded), item.key.help)
        for item in HostSettings(loaded.options, seeds).explain(url)
    ]


def _url_of(host: str, seeds: list[Url]) -> Url:
    if "://" in host:
        return parse_seed(host, "host")
    url = parse_seed(f"https://{host}/", "host")
    return next((seed for seed in seeds if location(seed) == host.lower()), url)


def _shown(setting: HostSetting) -> str:
    if setting.option is not None:
        return setting.option.show(setting.value)
    return NONE if setting.value is None else setting.key.show(setting.value)


def _source(setting: HostSetting, loaded: Loaded) -> str:
    if setting.pattern is not None:
        file = loaded.origins["host"].partition(", line")[0]
        return f"{shown_table(setting.pattern)}, {file}"
    if isinstance(setting.withheld, HostPattern):
        port = setting.withheld.port or "the default port"
        return f"withheld: {shown_table(setting.withheld)} is for https on {port}"
    if setting.withheld is not None:
        return f"withheld: {setting.withheld.flag} is for the seeds' origins"
    return "default" if setting.option is None else loaded.origins[setting.option.name]


@with_options
def config(
    *seeds: str,
    config: Path | None = None,
    host: Annotated[
        str | None,
        option("--host", "Show what applies to this host instead: host, host:port or origin."),
    ] = None,
    json: JsonLines = False,
    **flags: object,
) -> int:
    """Show the effective value of every option of a crawl, and where it comes from.

    The command takes the same arguments as `gossamer crawl`. With --host it shows what applies to
    requests to one host: the rules for it, the options, or the defaults.

    Parameters
    ----------
    seeds
        The URLs to start from.
    config
        A TOML file of options.
    flags
        The options of a crawl.
    """
    loaded = load({"seeds": seeds or None, **flags}, os.environ, config)
    settings = describe(loaded) if host is None else describe_host(loaded, host)
    rows = [[item.name, item.value_text, item.origin] for item in settings]
    return _put(settings, [["option", "value", "from"], *rows], json=json)


class PluginEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A module or a scorer in a list."""

    name: str
    origin: str
    summary: str
    strict: bool | msgspec.UnsetType = msgspec.UNSET
    options: tuple[str, ...] = ()
    """Its options, as far as they are known."""


def modules(*, json: JsonLines = False) -> int:
    """List the modules that --module can name."""
    entries = [
        PluginEntry(item.name, item.origin, item.summary, options=known_options(item.found))
        for item in MODULES.available()
    ]
    rows = [
        [entry.name, entry.origin, ", ".join(entry.options), entry.summary] for entry in entries
    ]
    return _put(entries, [["module", "from", "options", "what it does"], *rows], json=json)


def scorers(*, json: JsonLines = False) -> int:
    """List the scorers that --scorer can name."""
    entries = [
        PluginEntry(item.name, item.origin, item.summary, is_strict(item.found))
        for item in SCORERS.available()
    ]
    rows = [
        [entry.name, entry.origin, "strict" if entry.strict else "weighted random", entry.summary]
        for entry in entries
    ]
    return _put(entries, [["scorer", "from", "order", "what it does"], *rows], json=json)


def _put(records: Sequence[msgspec.Struct], rows: list[list[str]], *, json: bool) -> int:
    if json:
        put_json(records)
    else:
        put_table([[printable(cell) for cell in row] for row in rows])
    return 0


EXIT_KEPT = 1
CRAWL_STATES = {"interrupted": "stopped", "crashed": "killed", "outdated": "older version"}


def crawls(
    *,
    directory: Annotated[
        Path | None,
        option("--dir", "List the crawls in this directory and right below; by default this one."),
    ] = None,
    store: Annotated[
        str | None, option("--store", "List the crawls of a shared store: redis://HOST.")
    ] = None,
    delete: Annotated[
        str | None, option("--delete", "Delete the crawl of this name from a shared store.")
    ] = None,
    yes: Annotated[bool, option("--yes", "Delete without asking.")] = False,
    json: JsonLines = False,
) -> int:
    """List the crawls of a shared store or of a directory, or delete one from a shared store."""
    address = load({"store": store}, {} if directory else os.environ).options.store
    if delete is not None:
        return _delete(address, delete, yes=yes)
    if address.is_server:
        entries, where = asyncio.run(crawls_in(address)), str(address)
    else:
        here = directory or Path()
        if not here.is_dir():
            raise UsageError(f"there is no directory {here}")
        entries, where = asyncio.run(crawls_below(here)), str(here.resolve())
    if json:
        put_json(entries)
    elif entries:
        put_lines(_crawl_table(entries))
    else:
        put_lines([f"no crawls in {printable(where, 500)}"])
    return 0


def _crawl_table(crawls: Sequence[CrawlEntry]) -> Iterator[str]:
    is_shared = crawls[0].disk is None
    rows = [["crawl", "state", "URLs", "pages", "memory" if is_shared else "disk", "last request"]]
    for crawl in crawls:
        taken = crawl.memory if is_shared else crawl.disk
        name, state = printable(crawl.name, 200), CRAWL_STATES.get(crawl.state, crawl.state)
        room = "-" if taken is None else size(taken)
        rows.append([name, state, count(crawl.urls), count(crawl.pages), room, _remark(crawl)])
    yield from columns(rows, right=[2, 3, 4])


def _remark(crawl: CrawlEntry) -> str:
    if crawl.trouble is not None:
        return printable(crawl.trouble, 500)
    return "-" if crawl.last_at is None else moment(crawl.last_at)


def _delete(address: StoreAddress, name: str, *, yes: bool) -> int:
    if not address.is_server:
        raise UsageError(
            "--delete is for crawls in a shared store (--store redis://HOST): one in a directory "
            "is deleted with its directory, in which your results are as well"
        )
    # Imported when it is needed: the Redis client takes a while to load.
    from gossamer.stores.redis.address import parse_address  # noqa: PLC0415
    from gossamer.stores.redis.crawls import check_deletable, delete_crawl  # noqa: PLC0415

    server = parse_address(address.url)
    check_deletable(server, name)
    what = f"the crawl {printable(name, 200)} in {server}"
    if not yes and not _confirm(f"Delete {what}, with all of its pages?"):
        put_lines(["nothing was deleted"])
        return EXIT_KEPT
    delete_crawl(server, name)
    put_lines([f"deleted {what}"])
    return 0


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here whether to delete it: add --yes")
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
