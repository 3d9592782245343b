"""`gossamer config`, `gossamer modules`, `gossamer scorers`: the options and their choices."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from gossamer.cli.crawl import with_options
from gossamer.cli.output import put_json, put_table
from gossamer.cli.parameters import JsonLines, option
from gossamer.config import Loaded, describe, load
from gossamer.config.host_rules import HostPattern
from gossamer.config.host_table import shown_table
from gossamer.config.report import Setting
from gossamer.config.values import NONE
from gossamer.coordinator.plan import starts_of
from gossamer.display import printable
from gossamer.download.request_rules import HostSetting, HostSettings
from gossamer.frontier.scorers import SCORERS, is_strict
from gossamer.model import Url
from gossamer.modules.loading import MODULES, known_options
from gossamer.urls import location, parse_seed


def describe_host(loaded: Loaded, host: str) -> list[Setting]:
    """Return what applies to a host, host:port or origin.

    Without a scheme that of a seed of this host counts, or else https.
    """
    seeds = starts_of(loaded.options)
    url = _url_of(host, seeds)
    return [
        Setting(one.key.name, _shown(one), _source(one, loaded), one.key.help)
        for one in HostSettings(loaded.options, seeds).explain(url)
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
    **given: object,
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
    given
        The options of a crawl.
    """
    loaded = load({"seeds": seeds or None, **given}, os.environ, config)
    settings = describe(loaded) if host is None else describe_host(loaded, host)
    rows = [[one.name, one.value_text, one.origin] for one in settings]
    return _put(settings, [["option", "value", "from"], *rows], json=json)


class _Listed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A module or a scorer in a list."""

    name: str
    origin: str
    summary: str
    strict: bool | msgspec.UnsetType = msgspec.UNSET
    options: tuple[str, ...] = ()
    """Those that it is known to take."""


def modules(*, json: JsonLines = False) -> int:
    """List the modules that --module can name."""
    listed = [
        _Listed(one.name, one.origin, one.summary, options=known_options(one.found))
        for one in MODULES.available()
    ]
    rows = [[one.name, one.origin, ", ".join(one.options), one.summary] for one in listed]
    return _put(listed, [["module", "from", "options", "what it does"], *rows], json=json)


def scorers(*, json: JsonLines = False) -> int:
    """List the scorers that --scorer can name."""
    listed = [
        _Listed(one.name, one.origin, one.summary, is_strict(one.found))
        for one in SCORERS.available()
    ]
    rows = [
        [one.name, one.origin, "strict" if one.strict else "weighted random", one.summary]
        for one in listed
    ]
    return _put(listed, [["scorer", "from", "order", "what it does"], *rows], json=json)


def _put(records: Sequence[msgspec.Struct], rows: list[list[str]], *, json: bool) -> int:
    if json:
        put_json(records)
    else:
        put_table([[printable(cell) for cell in row] for row in rows])
    return 0
