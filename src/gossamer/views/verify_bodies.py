"""The check of bodies: whether those in the store and in saved files are what was fetched."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import xxhash

from gossamer.codings import CodingError, read_content
from gossamer.modules.page_file import page_number
from gossamer.views.audit import StoredPage


def spoilt_bodies(
    bodies: Iterable[tuple[int, int, bytes, bytes]], read: Callable[[bytes], bytes]
) -> Iterator[str]:
    """Yield the pages whose stored body is not what was fetched; `read` follows references."""
    for page_id, size, digest, stored in bodies:
        try:
            kept = read_content(read(stored))
            body = kept.body() if kept.size == size else b""
            kept.exchange()
        except CodingError as error:
            yield f"the body of page {page_id} is damaged: {error}"
            continue
        if kept.size != size:
            yield f"the body of page {page_id} does not have its recorded size"
        elif xxhash.xxh3_128_digest(body) != digest:
            yield f"the body of page {page_id} does not match its digest"


class SavedPages:
    """The numbered files of the module `save`, compared with the pages of the crawl."""

    def __init__(self, folder: Path, *, complete: bool, at_rest: bool) -> None:
        self._folder = folder
        self._complete = complete
        """Whether every page must have its file."""
        self._at_rest = at_rest
        """Whether the crawl was closed: no page is about to be kept, no depth to be corrected."""

    def wrong(self, pages: Iterable[StoredPage]) -> Iterator[str]:
        """Yield what is wrong with the files."""
        last = 0
        for page in pages:
            last = page.id
            yield from self._complaint(page)
        if self._at_rest and self._folder.is_dir():
            numbers = [page_number(one.name) for one in self._folder.iterdir()]
            for number in sorted(one for one in numbers if one is not None):
                if not 1 <= number <= last:
                    yield f"{self._folder / str(number)} belongs to no page"

    def _complaint(self, page: StoredPage) -> Iterator[str]:
        file = self._folder / str(page.id)
        try:
            url, depth, body = [*file.read_bytes().split(b"\n", 2), b"", b""][:3]
        except FileNotFoundError:
            if self._complete:
                yield f"{file} is missing"
            return
        except OSError as error:
            yield f"{file} cannot be read: {error.strerror}"
            return
        if url != page.url.encode():
            yield f"{file} does not name {page.url} in its first line"
        elif not page.is_last_version:
            return  # a later one was saved, and then not settled: its worker died
        elif self._at_rest and depth not in (b"%d" % page.depth, b"%d" % page.reported_depth):
            yield f"{file} does not have the depth {page.depth} in its second line"
        elif len(body) != page.size or xxhash.xxh3_128_digest(body) != page.digest:
            yield f"{file} does not hold what was fetched"
