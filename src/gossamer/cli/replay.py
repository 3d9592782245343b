"""`gossamer replay`: the command that shows kept pages to a module."""

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import uvloop

from gossamer.cli.continuing import CrawlDir, read_crawl, request_for
from gossamer.cli.parameters import CrawlName, Directory, LogFormatChoice, Quiet, StoreUrl, option
from gossamer.cli.signals import run_until_signalled
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.replay import Replay, ReplayReport
from gossamer.errors import ExitCode
from gossamer.modules import load_modules
from gossamer.observe import DisplayOptions, open_observer
from gossamer.observe.figures import counted, rate, span
from gossamer.plan import Plan
from gossamer.plan.commands import crawl_command
from gossamer.plan.continuing import options_as_stored


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
