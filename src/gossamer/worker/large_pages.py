"""Large pages, read in a thread, one at a time, so that a worker's requests go on meanwhile."""

import asyncio
import ctypes
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final

from gossamer.content.page_parser import PageParser, ParsedPage, ParseRules, RawPage
from gossamer.content.similarity import main_content_sample
from gossamer.frontier.contract import KeptPage
from gossamer.model import Response
from gossamer.stores.bodies.content import ContentPacker
from gossamer.worker.fetched_page import kept_page

LARGE_BYTES: Final = 200_000
"""A page of this size takes about ten milliseconds; a hostile one of 10 MB takes a second."""

HUGE_BYTES: Final = 1_000_000
"""After a page of this size memory is given back."""


class LargePages:
    """Reads large pages; the thread is there from the first of them on."""

    def __init__(self, rules: ParseRules) -> None:
        self._page_parser = PageParser(rules)  # its cache of links is for one thread
        self._packer, self._packer_of_thread = ContentPacker(), ContentPacker()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-large-pages")

    async def parse(self, page: RawPage, *, with_template_hash: bool = False) -> ParsedPage:
        """Return a parsed page."""
        loop = asyncio.get_running_loop()
        parse = partial(self._parse, page, with_template_hash=with_template_hash)
        return await loop.run_in_executor(self._thread, parse)

    async def main_content_sample(self, body: bytes, content_type: str | None) -> bytes:
        """Return the sample of the own content of a page of any size."""
        if len(body) <= LARGE_BYTES:
            return main_content_sample(body, content_type)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, main_content_sample, body, content_type)

    async def kept(self, response: Response, parsed: ParsedPage, fetched_at: float) -> KeptPage:
        """Return a page of any size as it is kept, without its number."""
        if len(response.body) <= LARGE_BYTES:
            return kept_page(self._packer, response, parsed, fetched_at)
        pack = partial(kept_page, self._packer_of_thread, response, parsed, fetched_at)
        return await asyncio.get_running_loop().run_in_executor(self._thread, pack)

    def _parse(self, page: RawPage, *, with_template_hash: bool) -> ParsedPage:
        parsed = self._page_parser.parse(page, with_template_hash=with_template_hash)
        if len(page.body) > HUGE_BYTES:
            give_back_memory()
        return parsed


UNUSED_BYTES: Final = 8_000_000
"""By how much a process may grow before it looks whether it needs all of that."""


def give_back_memory() -> None:
    """Give the system back what is not in use; it takes some milliseconds, without the GIL."""
    with suppress(OSError, AttributeError):  # another C library, which has no such thing
        ctypes.CDLL(None).malloc_trim(0)


class UnusedMemory:
    """Says when memory is to be given back: when the process has grown since the last time.

    What it grew by may be in use; then it has to grow as much again before the next time.
    """

    def __init__(self) -> None:
        self._least: int | None = None
        """What the process held after the last time, or less."""

    def is_due(self, resident: int) -> bool:
        """Tell whether a process that holds this many bytes is to give back what it can."""
        if self._least is None or resident < self._least:
            self._least = resident
        return resident - self._least > UNUSED_BYTES

    def given_back(self, resident: int) -> None:
        """Note what the process holds after it gave back what it could."""
        self._least = resident
