"""Pages and their contents in dictionaries."""

from collections.abc import Iterator

import msgspec
import zstandard

from gossamer.content.similarity import Sketch
from gossamer.model import Outcome
from gossamer.stores.contract import KeptPage, PageRecord
from gossamer.stores.embedded.backend import Expired
from gossamer.stores.embedded.memory.rows import Row


class _Page(msgspec.Struct, eq=False):
    row: Row
    kept: KeptPage
    reported_depth: int


class MemoryPages:
    """The kept pages."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._pages: dict[int, _Page] = {}
        self._contents: dict[int, bytes] = {}
        self._duplicates: dict[bytes, tuple[float, int]] = {}
        self._sketches: dict[int, tuple[bytes, bytes]] = {}
        """Bands and samples."""

    def _row(self, url_id: int) -> Row:
        return self._rows[url_id - 1]

    def add_page(self, url_id: int, page: KeptPage, depth: int, sketch: Sketch | None) -> None:
        """Keep a page, its content and its sketch, and the depth that the modules were told."""
        without_content = msgspec.structs.replace(page, content=b"")
        self._pages[page.page_id] = _Page(self._row(url_id), without_content, depth)
        self._contents[page.page_id] = page.content
        self._duplicates[page.digest] = (page.fetched_at, page.page_id)
        if sketch is not None:
            self._sketches[page.page_id] = (b"".join(sketch.bands), sketch.sample)

    def duplicate_of(self, digest: bytes, since: float) -> int | None:
        """Return a page of that content that was fetched after that moment."""
        fetched_at, page_id = self._duplicates.get(digest, (since, 0))
        return page_id if fetched_at > since else None

    def bands(self, since: float) -> Iterator[tuple[int, bytes]]:
        """Yield the pages that have a sketch and were fetched after that moment, with its bands."""
        for page_id, (bands, _) in self._sketches.items():
            if self._pages[page_id].kept.fetched_at > since:
                yield page_id, bands

    def sample(self, page_id: int, since: float) -> bytes | None:
        """Return the sample of a page's sketch, if it was fetched after that moment and has one."""
        sketch = self._sketches.get(page_id)
        if sketch is None or self._pages[page_id].kept.fetched_at <= since:
            return None
        return sketch[1]

    def set_reported_depth(self, page_id: int, depth: int) -> None:
        """Note that the modules know a page's depth."""
        self._pages[page_id].reported_depth = depth

    def pending_depth_changes(self) -> list[tuple[int, int]]:
        """Return the pages, by number, whose depth the modules do not know, with that depth."""
        pages = sorted(self._pages.items())
        return [
            (number, page.row.known.depth)
            for number, page in pages
            if page.row.known.depth != page.reported_depth
        ]

    def expire_content(self, before: float, limit: int) -> list[Expired]:
        """Drop contents and sketches fetched before that moment, at most so many."""
        old: list[int] = []
        for page_id in self._contents:  # about in the order of fetching
            if len(old) == limit or self._pages[page_id].kept.fetched_at > before:
                break
            old.append(page_id)
        for page_id in old:
            del self._contents[page_id]
            digest = self._pages[page_id].kept.digest
            if self._duplicates.get(digest, (0.0, 0))[1] == page_id:
                del self._duplicates[digest]
        return [Expired(one, self._sketches.pop(one, (b"", b""))[0]) for one in old]

    def content(self, page_id: int) -> bytes | None:
        """Return a page's body, decompressed; None if it has expired."""
        content = self._contents.get(page_id)
        return None if content is None else zstandard.decompress(content)

    def pages(self) -> Iterator[PageRecord]:
        """Yield the kept pages in the order of their numbers."""
        for number, page in sorted(self._pages.items()):
            kept = page.kept
            yield PageRecord(
                id=number,
                url=page.row.link.url,
                depth=page.row.known.depth,
                outcome=Outcome.FETCHED,
                bytes=kept.size,
                content_type=kept.content_type,
                encoding=kept.encoding,
                title=kept.title,
                fetched_at=kept.fetched_at,
            )
