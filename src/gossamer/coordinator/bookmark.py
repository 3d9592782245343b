"""The bookmark of a crawl: up to which result it was exported, kept with the crawl."""

from collections.abc import Sequence

import msgspec

from gossamer.config import StoreAddress
from gossamer.errors import CrawlError
from gossamer.outputs.state import state_folder
from gossamer.stores.atomic_files import write_file
from gossamer.stores.reading import CrawlReader
from gossamer.stores.redis.connecting import put_note
from gossamer.stores.results import Result

BOOKMARK = "last-export"
"""The name of the note, and of the file."""


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """The last result that was exported."""

    number: int
    url_id: int
    settled_at: float

    @classmethod
    def of(cls, results: Sequence[Result]) -> "Bookmark | None":
        """Return the bookmark at the first of the results; None if there is none."""
        for one in results:
            return cls(number=one.number, url_id=one.url_id, settled_at=one.settled_at)
        return None


class BookmarkKeeper:
    """Keeps the bookmark: in the crawl's directory, or as a note where its store is a server."""

    def __init__(self, address: StoreAddress, reader: CrawlReader) -> None:
        self._reader = reader
        self._shared = address if address.is_server else None
        self._name = reader.name or ""
        self._folder = None if reader.directory is None else state_folder(reader.directory)

    async def read(self) -> int:
        """Return after which result the next export begins; 0 if there was none before.

        Where a server has lost results since, everything counts as new.
        """
        found = await self._read()
        if found is None:
            return 0
        try:
            bookmark = msgspec.json.decode(found, type=Bookmark)
        except msgspec.MsgspecError as error:
            raise CrawlError(
                f"the note of the last export is damaged ({error}): export without --new"
            ) from error
        there = Bookmark.of(await self._reader.results(bookmark.number - 1, 1))
        return bookmark.number if there == bookmark else 0

    async def _read(self) -> bytes | None:
        if self._shared is not None or self._folder is None:
            return await self._reader.note(BOOKMARK)
        try:
            return (self._folder / f"{BOOKMARK}.json").read_bytes()
        except FileNotFoundError:
            return None

    async def write(self, bookmark: Bookmark) -> None:
        """Keep the bookmark, if anything can be kept there."""
        content = msgspec.json.encode(bookmark)
        if self._shared is not None:
            await put_note(self._shared, self._name, BOOKMARK, content)
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
