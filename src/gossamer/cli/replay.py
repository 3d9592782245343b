"""The commands that read stored pages once more: `gossamer replay` and `gossamer export`."""

import asyncio
import os
import sys
from functools import partial
from typing import Annotated

from gossamer.cli.parameters import LogFormatChoice, Quiet, option, reads_crawl, with_options
from gossamer.cli.resume import read_crawl
from gossamer.cli.signals import run_stoppable
from gossamer.config import load
from gossamer.coordinator.export import Export, ExportReport
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.replay import Replay, ReplayReport
from gossamer.coordinator.resume import crawl_command, options_as_stored
from gossamer.display import open_observer
from gossamer.display.formatting import counted, rate, size, span
from gossamer.model.errors import ExitCode, UsageError
from gossamer.modules.loading import load_modules
from gossamer.modules.module_stats import ModuleReport
from gossamer.outputs.targets import OutputWishes
from gossamer.stores.crawl_views import ReadRequest


@reads_crawl
def replay(
    request: ReadRequest,
    *,
    module: Annotated[
        tuple[str, ...],
        option("--module", "A module to show the pages to, named as for a crawl; may be repeated."),
    ],
    from_start: Annotated[
        bool, option("--from-start", "Show all pages, also those that the module has seen before.")
    ] = False,
    log_format: LogFormatChoice = "text",
    quiet: Quiet = False,
) -> int:
    """Show every kept page of a crawl to a module, in the order of the page numbers.

    Nothing is fetched: the bodies are those that are stored. Ctrl-C stops it after a page. The same
    command continues where it was, also after it was killed.
    """
    modules = load_modules(module)
    stored = asyncio.run(read_crawl(request))
    plan = Plan(options_as_stored(stored, request.directory))
    # Lines, also in a terminal: the live display is one of a crawl.
    with open_observer(sys.stdout, sys.stderr, {}, log_format=log_format, quiet=quiet) as observer:
        make = partial(Replay, plan, modules, observer, from_start=from_start)
        reports = run_stoppable(make, observer)
        if not reports or reports[-1].stopped:
            named = [word for name in module for word in ("--module", name)]
            again = crawl_command(plan, os.environ, "replay", *named)
            observer.say("warning", f"interrupted; continue with: {again}")
            return ExitCode.INTERRUPTED
        for report in reports:
            _report_replay(report, observer)
        failed = any(_has_failed(report.module) for report in reports)
        return ExitCode.MODULE_FAILED if failed else ExitCode.DONE


def _report_replay(report: ReplayReport, observer: Observer) -> None:
    name, shown = report.module.name, counted(report.shown, "page")
    if report.shown:
        pace = rate(report.shown / max(report.elapsed_s, 1e-9))
        message = f"{name} has seen {shown} in {span(report.elapsed_s)}: {pace} pages/s"
        records = report.module.records
        observer.say("info", f"{message}, {counted(records, 'record')}" if records else message)
    elif not report.pages:
        observer.say("info", "there is nothing to show: no page has been kept yet")
    elif not report.expired:
        message = f"{name} has seen all {counted(report.pages, 'page')} before"
        observer.say("info", f"{message}; --from-start shows them again")
    if report.expired:
        message = f"{counted(report.expired, 'page')} could not be shown to {name}"
        observer.say("warning", f"{message}: their bodies have expired and are not stored any more")


def _has_failed(module: ModuleReport) -> bool:
    """Return whether a module has failed on every page that it was shown."""
    return not module.pages and module.errors + module.timed_out > 0


EXPORTED = ("output", "fields", "csv-safe", "warc-size")


@reads_crawl
@partial(with_options, only=EXPORTED)
def export(
    request: ReadRequest,
    *,
    new: Annotated[
        bool, option("--new", "Write only what came after the last export, to another path.")
    ] = False,
    log_format: LogFormatChoice = "text",
    quiet: Quiet = False,
    **flags: object,
) -> int:
    """Write the results of a crawl to files: tables, archives, Markdown or a mirror.

    The crawl may be running, have ended or have been killed. Nothing is fetched. Ctrl-C stops it.
    """
    options = load(flags, {}).options
    if not options.output:
        raise UsageError("an export needs a path to write to: add -o pages.jsonl, for example")
    wishes = OutputWishes.of(options, "", ())
    with open_observer(sys.stdout, sys.stderr, {}, log_format=log_format, quiet=quiet) as observer:
        make = partial(Export, request, wishes, partial(observer.say, "info"), only_new=new)
        report = run_stoppable(make, observer)
        if report is None:
            observer.say("warning", "stopped at once")
            return ExitCode.INTERRUPTED
        return _report_export(report, observer)


def _report_export(report: ExportReport, observer: Observer) -> int:
    if report.stopped:
        rest = "the same command goes on" if report.can_continue else "nothing was written"
        observer.say("warning", f"interrupted; {rest}")
        return ExitCode.INTERRUPTED
    for output in report.outputs:
        note = f"; {output.note}" if output.note else ""
        extent = f"{counted(output.items, output.unit)}, {size(output.bytes)}{note}"
        observer.say("info", f"{output.target}: {extent}")
    return ExitCode.DONE
