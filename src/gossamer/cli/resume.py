"""`gossamer resume`: the command that continues a crawl."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import uvloop
from cyclopts import Parameter

from gossamer.cli.crawl import crawl_with, with_options
from gossamer.cli.parameters import (
    CrawlName,
    Directory,
    LogFormatChoice,
    Quiet,
    StoreUrl,
    crawl_to_read,
    option,
    parse_outcome,
)
from gossamer.cli.signals import run_until_signalled
from gossamer.config import IN_DIRECTORY, CrawlOptions
from gossamer.coordinator.continuing import (
    FIXED,
    ORIGIN_NOTE,
    CrawlToContinue,
    crawl_command,
    options_as_stored,
    options_to_continue,
    read_origin,
)
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.replay import Replay, ReplayReport
from gossamer.display import DisplayOptions, open_observer
from gossamer.display.formatting import counted, rate, span
from gossamer.frontier.contract import RetryRequest
from gossamer.model import Outcome
from gossamer.model.errors import ExitCode, UsageError
from gossamer.modules.loading import load_modules
from gossamer.policy.failures import FAILED, MAY_PASS
from gossamer.stores.reading import ReadRequest
from gossamer.stores.registry import address_in, open_for_reading
from gossamer.stores.rows import OPTIONS_NOTE
from gossamer.urls import host_key, parse_seed

UNCHANGEABLE = frozenset({*FIXED, "fresh"})

CrawlDir = Annotated[
    Path | None,
    Parameter(
        help="The directory of the crawl; by default this one, or the only crawl right below it.",
        show_default=False,
    ),
]


def options_of(
    directory: Path | None, given: Mapping[str, object], config: Path | None
) -> CrawlOptions:
    """Return the options of the crawl that is meant, with those that were given now."""
    crawl = asyncio.run(read_crawl(request_for(directory, given)))
    return options_to_continue(crawl, given, os.environ, config)


def request_for(directory: Path | None, given: Mapping[str, object]) -> ReadRequest:
    """Return which crawl is meant: the directory, or --dir, --store and --name."""
    if directory is not None and str(directory).startswith(("http:", "https:")):
        raise UsageError("this command takes the directory of a crawl, not a seed: leave it out")
    store, name, flag = (_text(given, one) for one in ("store", "name", "dir"))
    if directory is not None and (store, flag) != (None, None):
        raise UsageError(f"the crawl is named twice, by {directory} and by an option: give one")
    chosen = directory or (None if flag in {None, "auto"} else Path(flag or "").expanduser())
    return crawl_to_read(chosen, store, name)


def _text(given: Mapping[str, object], name: str) -> str | None:
    value = given.get(name)
    return None if value is None else str(value)


async def read_crawl(request: ReadRequest) -> CrawlToContinue:
    """Return what is stored of a crawl that is to be continued."""
    async with open_for_reading(request) as reader:
        note = await reader.note(OPTIONS_NOTE)
        if note is None:
            raise UsageError(f"{reader.where} has not begun: start it with 'gossamer crawl'")
        address, directory = request.address, reader.directory
        if address == IN_DIRECTORY and directory is not None:
            address = address_in(directory)
        return CrawlToContinue(
            address=address,
            name=reader.name,
            directory=directory,
            options=note,
            origin=read_origin(await reader.note(ORIGIN_NOTE)),
        )


@partial(with_options, unchangeable=UNCHANGEABLE)
def resume(directory: CrawlDir = None, /, *, config: Path | None = None, **given: object) -> int:
    """Continue a crawl that was stopped, was killed or has reached a limit.

    Options and modules are stored with the crawl, so none have to be given again. Those that are
    given replace the stored ones, and are stored in turn; what defines the crawl, such as its
    scope, cannot change. Secrets are not stored: where they are needed, set GOSSAMER_STORE and
    GOSSAMER_PAGERANK_KEY again.

    Parameters
    ----------
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    return crawl_with(options_of(directory, given, config))


@partial(with_options, unchangeable=UNCHANGEABLE)
def retry(
    directory: CrawlDir = None,
    /,
    *,
    outcome: Annotated[
        tuple[str, ...],
        option(
            "--outcome",
            "Retry URLs with this outcome, such as not_found; may be repeated. Any outcome without "
            "a page can be named; 'gossamer status' counts them.",
        ),
    ] = (),
    host: Annotated[
        tuple[str, ...], option("--host", "Only URLs of this host; may be repeated.")
    ] = (),
    config: Path | None = None,
    **given: object,
) -> int:
    """Retry failed URLs of a crawl, and continue it as `gossamer resume` does.

    By default these are the URLs that may succeed another time: timeouts, connections and name
    lookups that failed, server errors, and what was given up. Each gets one more attempt, or more
    if --retries allows more in total. Hosts that were given up are asked again.

    Parameters
    ----------
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    request = RetryRequest(
        outcomes=frozenset(map(_outcome, _split(outcome))) or MAY_PASS,
        hosts=frozenset(host_key(parse_seed(f"http://{name}/", "host")) for name in _split(host)),
    )
    return crawl_with(options_of(directory, given, config), request)


def _split(values: Sequence[str]) -> list[str]:
    return [one.strip() for value in values for one in value.split(",")]


def _outcome(name: str) -> Outcome:
    """Return the outcome of that name; one with a page is refused."""
    outcome = parse_outcome(name, FAILED)
    if outcome not in FAILED:
        raise UsageError(
            f"what was {outcome} has not failed, and is not tried again: name an outcome without a "
            f"page, such as {Outcome.TIMED_OUT}"
        )
    return outcome


def replay(
    directory: CrawlDir = None,
    /,
    *,
    module: Annotated[
        tuple[str, ...],
        option("--module", "A module to show the pages to, named as for a crawl; may be repeated."),
    ],
    from_start: Annotated[
        bool, option("--from-start", "Show all pages, also those that the module has seen before.")
    ] = False,
    dir: Directory = None,  # noqa: A002 -- the name of the option
    store: StoreUrl = None,
    name: CrawlName = None,
    log_format: LogFormatChoice = "text",
    quiet: Quiet = False,
) -> int:
    """Show every kept page of a crawl to a module, in the order of the page numbers.

    Nothing is fetched: the bodies are those that are stored. Ctrl-C stops it after a page. The same
    command continues where it was, also after it was killed.
    """
    modules = load_modules(module)
    request = request_for(directory, {"dir": dir, "store": store, "name": name})
    plan = Plan(options_as_stored(asyncio.run(read_crawl(request)), dir))
    display = DisplayOptions(log_format=log_format, quiet=quiet)
    # Lines, also in a terminal: the live display is one of a crawl.
    with open_observer(display, sys.stdout, sys.stderr, {}) as observer:
        named = [word for one in module for word in ("--module", one)]
        again = crawl_command(plan, os.environ, "replay", *named)

        async def run() -> list[ReplayReport]:
            replayed = Replay(plan, modules, observer, from_start=from_start)
            return await run_until_signalled(replayed, partial(observer.say, "info"))

        try:
            reports = uvloop.run(run())
        except asyncio.CancelledError:
            reports = []
        if not reports or reports[-1].stopped:
            observer.say("warning", f"interrupted; continue with: {again}")
            return ExitCode.INTERRUPTED
        for report in reports:
            _tell(report, observer)
        return ExitCode.MODULE_FAILED if _has_failed(reports) else ExitCode.DONE


def _tell(report: ReplayReport, observer: Observer) -> None:
    name, shown = report.module.name, counted(report.shown, "page")
    if report.shown:
        pace = rate(report.shown / max(report.elapsed_s, 1e-9))
        words = f"{name} has seen {shown} in {span(report.elapsed_s)}: {pace} pages/s"
        records = report.module.records
        observer.say("info", f"{words}, {counted(records, 'record')}" if records else words)
    elif not report.pages:
        observer.say("info", "there is nothing to show: no page has been kept yet")
    elif not report.expired:
        words = f"{name} has seen all {counted(report.pages, 'page')} before"
        observer.say("info", f"{words}; --from-start shows them again")
    if report.expired:
        words = f"{counted(report.expired, 'page')} could not be shown to {name}"
        observer.say("warning", f"{words}: their bodies have expired and are not stored any more")


def _has_failed(reports: Sequence[ReplayReport]) -> bool:
    """Tell whether a module has failed on every page that it was shown."""
    modules = [report.module for report in reports]
    return any(not one.pages and one.errors + one.timed_out for one in modules)
