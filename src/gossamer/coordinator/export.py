"""The export of a stored crawl: outputs that are written from it, while it runs or afterwards."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from gossamer.config import StoreAddress
from gossamer.coordinator.outputs import output_state_folder
from gossamer.coordinator.plan import check_fields, parse_rules
from gossamer.coordinator.resume import read_options
from gossamer.model.errors import CrawlError, UsageError
from gossamer.outputs.contract import OutputReport
from gossamer.outputs.resumable import state_folder
from gossamer.outputs.targets import OutputWishes, check_endings, check_places
from gossamer.outputs.writer import OutputWriter
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.files import write_file
from gossamer.stores.reader import CrawlReader
from gossamer.stores.registry import open_for_reading
from gossamer.stores.rows import OPTIONS_NAME

BOOKMARK = "last-export"
"""The name of the note, and of the file."""
SHOW_EVERY_S = 2.0


class ExportReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an export."""

    outputs: list[OutputReport]
    results: int
    """How many results of the log were written."""
    stopped: bool
    """Whether it was stopped before it was complete."""
    can_continue: bool = False
    """Whether the same command goes on where it was stopped."""


class Export:
    """Writes outputs of a stored crawl. `stop` ends it soon."""

    def __init__(
        self,
        request: ReadRequest,
        wishes: OutputWishes,
        say: Callable[[str], None],
        *,
        only_new: bool = False,
    ) -> None:
        """Prepare; with `only_new` they hold what came after the last export."""
        self._request = request
        self._wishes = wishes
        self._say = say
        self._only_new = only_new
        self._stopped = False
        self._writer: OutputWriter | None = None
        check_endings(wishes.targets)
        check_fields(wishes.fields, wishes.targets)

    def stop(self) -> None:
        """End soon."""
        self._stopped = True
        if self._writer is not None:
            self._writer.stopped = True

    @property
    def is_working(self) -> bool:
        """Whether outputs are open, of which `stop` says how they are left."""
        return self._writer is not None

    async def run(self) -> ExportReport:
        """Write the outputs; return what came of it."""
        with ExitStack() as stack:
            async with open_for_reading(self._request) as reader:
                folder = None if self._only_new else await _own_folder(reader)
                can_continue = folder is not None
                if folder is None:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                bookmark_file = BookmarkFile(self._request.address, reader)
                start = (await bookmark_file.read()) if self._only_new else 0
                writer = await self._make_writer(reader, folder, start)
            stack.callback(writer.close)
            writer.lock()
            # Opened now, so that it knows of all results that others have written.
            async with open_for_reading(self._request) as reader:
                try:
                    report = await self._write(reader, writer, start)
                finally:
                    if writer.stopped and not can_continue:
                        writer.discard()
                last = await Bookmark.at(reader, report.results)
            if not report.stopped and last is not None:
                await bookmark_file.write(last)
        return msgspec.structs.replace(report, can_continue=can_continue)

    async def _make_writer(self, reader: CrawlReader, folder: Path, start: int) -> OutputWriter:
        stored = read_options(await reader.metadata(OPTIONS_NAME), reader.where)
        if stored is None:
            raise UsageError(f"{reader.where} has not begun: there is nothing to export")
        wishes = msgspec.structs.replace(
            self._wishes, modules=stored.module, crawl=reader.name or reader.where
        )
        specs = wishes.specs(folder)
        check_places(specs)
        self._writer = writer = OutputWriter(specs, parse_rules(stored), start=start)
        writer.stopped = self._stopped
        return writer

    async def _write(self, reader: CrawlReader, writer: OutputWriter, start: int) -> ExportReport:
        showing = asyncio.create_task(self._show(writer, start, await reader.last_result()))
        try:
            await writer.open(reader)
            await writer.follow(reader)
            if writer.stopped:
                writer.flush()
                return ExportReport(outputs=[], results=0, stopped=True)
            written = writer.number
            return ExportReport(outputs=await writer.finish(reader), results=written, stopped=False)
        finally:
            showing.cancel()

    async def _show(self, writer: OutputWriter, start: int, last: int) -> None:
        while True:
            await asyncio.sleep(SHOW_EVERY_S)
            self._say(f"{writer.number - start:,} of {last - start:,} results written")


async def _own_folder(reader: CrawlReader) -> Path | None:
    """Return where the crawl keeps the states of its outputs; None if we cannot write there."""
    folder = await output_state_folder(reader)
    if folder is None or not os.access(folder.parent, os.W_OK):
        return None
    folder.mkdir(exist_ok=True)
    return folder


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """The last result that was exported."""

    number: int
    url_id: int
    settled_at: float

    @classmethod
    async def at(cls, reader: CrawlReader, number: int) -> "Bookmark | None":
        """Return the bookmark at the result of that number; None if there is none."""
        for result in await reader.results(number - 1, 1):
            return cls(number=result.number, url_id=result.url_id, settled_at=result.settled_at)
        return None


class BookmarkFile:
    """Where the bookmark is: in the crawl's directory, or a note where its store is a server."""

    def __init__(self, address: StoreAddress, reader: CrawlReader) -> None:
        self._reader = reader
        self._shared = address if address.is_server else None
        self._name = reader.name or ""
        self._folder = None if reader.directory is None else state_folder(reader.directory)

    async def read(self) -> int:
        """Return after which result the next export begins; 0 if there was none before.

        Where a server has lost results since, everything counts as new.
        """
        packed = await self._read()
        if packed is None:
            return 0
        try:
            bookmark = msgspec.json.decode(packed, type=Bookmark)
        except msgspec.MsgspecError as error:
            raise CrawlError(
                f"the note of the last export is damaged ({error}): export without --new"
            ) from error
        is_there = bookmark == await Bookmark.at(self._reader, bookmark.number)
        return bookmark.number if is_there else 0

    async def _read(self) -> bytes | None:
        if self._shared is not None or self._folder is None:
            return await self._reader.metadata(BOOKMARK)
        try:
            return (self._folder / f"{BOOKMARK}.json").read_bytes()
        except FileNotFoundError:
            return None

    async def write(self, bookmark: Bookmark) -> None:
        """Keep the bookmark, if anything can be kept there."""
        content = msgspec.json.encode(bookmark)
        if self._shared is not None:
            # An export of a crawl in a file does not load the client of a server.
            from gossamer.stores.redis.rows import put_metadata  # noqa: PLC0415

            await put_metadata(self._shared, self._name, BOOKMARK, content)
            return
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(str(self._folder), f"{BOOKMARK}.json", [content], durable=True)
        except OSError as error:
            raise CrawlError(
                f"the outputs are written, but not up to where: {self._folder}: {error.strerror}; "
                "the next export with --new repeats them"
            ) from error
