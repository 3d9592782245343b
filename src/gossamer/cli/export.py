"""`gossamer export`: the command that writes outputs from a stored crawl."""

import asyncio
import sys
from functools import partial
from typing import Annotated

import uvloop

from gossamer.cli.parameters import CrawlName, Directory, LogFormatChoice, Quiet, StoreUrl, option
from gossamer.cli.resume import CrawlDir, request_for
from gossamer.cli.signals import run_until_signalled
from gossamer.config import load
from gossamer.coordinator.export import Export, ExportReport
from gossamer.coordinator.observer import Observer
from gossamer.display import DisplayOptions, open_observer
from gossamer.display.formatting import counted, size
from gossamer.model.errors import ExitCode, UsageError
from gossamer.outputs.targets import OutputWishes


def export(
    directory: CrawlDir = None,
    /,
    *,
    output: Annotated[
        tuple[str, ...],
        option(
            ["--output", "-o"],
            "A path to write to, in the format of its ending, as for a crawl; may be repeated.",
        ),
    ] = (),
    fields: Annotated[
        tuple[str, ...],
        option("--fields", "Write one row per page with these fields, separated by commas."),
    ] = (),
    csv_safe: Annotated[
        bool, option("--csv-safe", "Put a ' before cells that look like formulas.")
    ] = False,
    warc_size: Annotated[
        str | None, option("--warc-size", "Start a new file of a WARC archive at this size.")
    ] = None,
    new: Annotated[
        bool, option("--new", "Write only what came after the last export, to another path.")
    ] = False,
    dir: Directory = None,  # noqa: A002 -- the name of the option
    store: StoreUrl = None,
    name: CrawlName = None,
    log_format: LogFormatChoice = "text",
    quiet: Quiet = False,
) -> int:
    """Write the results of a crawl to files: tables, archives, Markdown or a mirror.

    The crawl may be running, have ended or have been killed. Nothing is fetched. Ctrl-C stops it.
    """
    if not output:
        raise UsageError("an export needs a path to write to: add -o pages.jsonl, for example")
    request = request_for(directory, {"dir": dir, "store": store, "name": name})
    wished = {"output": output, "fields": fields or None, "csv_safe": csv_safe}
    options = load({**wished, "warc_size": warc_size}, {}).options
    wishes = OutputWishes.of(options, "", ())
    display = DisplayOptions(log_format=log_format, quiet=quiet)
    with open_observer(display, sys.stdout, sys.stderr, {}) as observer:
        say = partial(observer.say, "info")

        async def run() -> ExportReport:
            exported = Export(request, wishes, say, only_new=new)
            return await run_until_signalled(exported, say)

        try:
            report = uvloop.run(run())
        except asyncio.CancelledError:
            observer.say("warning", "stopped at once")
            return ExitCode.INTERRUPTED
        return _tell(report, observer)


def _tell(report: ExportReport, observer: Observer) -> int:
    if report.stopped:
        rest = "the same command goes on" if report.can_continue else "nothing was written"
        observer.say("warning", f"interrupted; {rest}")
        return ExitCode.INTERRUPTED
    for one in report.outputs:
        note = f"; {one.note}" if one.note else ""
        extent = f"{counted(one.items, one.unit)}, {size(one.bytes)}{note}"
        observer.say("info", f"{one.target}: {extent}")
    return ExitCode.DONE
