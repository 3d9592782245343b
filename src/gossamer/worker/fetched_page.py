"""A fetched page: parsed, as modules see it, as it is stored, and as outputs want it.

Large pages are read in a thread, one at a time, so that a worker's requests go on meanwhile.
"""

import asyncio
import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import asdict

from gossamer.content.lazy_document import LazyDocument
from gossamer.content.page_parser import (
    PageParser,
    ParsedPage,
    RawPage,
    header_language,
)
from gossamer.content.similarity import main_content_sample
from gossamer.frontier.contract import Claim, KeptPage, Task
from gossamer.model import Page, Response
from gossamer.model.page import PageAttributes, pack_attributes
from gossamer.modules.contract import Delivered
from gossamer.modules.stored_pages import ParsedParts
from gossamer.outputs.rows import PrecomputedRow, pack_row, row_of
from gossamer.stores.bodies import ContentPacker

T = TypeVar("T")

LARGE_BYTES: Final = 200_000
"""A page of this size takes about ten milliseconds; a hostile one of 10 MB takes a second."""
HUGE_BYTES: Final = 1_000_000
"""After a page of this size memory is given back."""
UNUSED_BYTES: Final = 8_000_000
"""By how much a process may grow before it checks whether it needs all of that."""


class PageProcessor:
    """Parses, compares and packs pages; the thread is there from the first large one on."""

    def __init__(self, page_parser: PageParser) -> None:
        self._page_parser = page_parser
        # Its cache of links is for one thread.
        self._parser_of_thread = PageParser(page_parser.rules)
        self._packer, self._packer_of_thread = ContentPacker(), ContentPacker()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-large-pages")

    async def parse(self, page: RawPage, *, with_template_hash: bool = False) -> ParsedPage:
        """Return a page, parsed."""
        if len(page.body) <= LARGE_BYTES:
            return self._page_parser.parse(page, with_template_hash=with_template_hash)
        return await self._in_thread(
            partial(self._parse_large, page, with_template_hash=with_template_hash)
        )

    async def main_content_sample(self, body: bytes, content_type: str | None) -> bytes:
        """Return the sample of the own content of a page."""
        if len(body) <= LARGE_BYTES:
            return main_content_sample(body, content_type)
        return await self._in_thread(partial(main_content_sample, body, content_type))

    async def stored(self, response: Response, parsed: ParsedPage, fetched_at: float) -> KeptPage:
        """Return a page as it is stored, without its number."""
        if len(response.body) <= LARGE_BYTES:
            return stored_page(self._packer, response, parsed, fetched_at)
        packer = self._packer_of_thread
        return await self._in_thread(partial(stored_page, packer, response, parsed, fetched_at))

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _parse_large(self, page: RawPage, *, with_template_hash: bool) -> ParsedPage:
        parsed = self._parser_of_thread.parse(page, with_template_hash=with_template_hash)
        if len(page.body) > HUGE_BYTES:
            give_back_memory()
        return parsed


def stored_page(
    packer: ContentPacker, response: Response, parsed: ParsedPage, fetched_at: float
) -> KeptPage:
    """Return the page as the frontier stores it, without its number."""
    content = packer.pack(
        response.body, response.exchange, coding=response.coding, wire_body=response.wire_body
    )
    return KeptPage(
        page_id=0,
        size=len(response.body),
        digest=parsed.digest,
        content=content,
        attributes=pack_attributes(attributes_of(response, parsed)),
        fetched_at=fetched_at,
    )


def attributes_of(response: Response, parsed: ParsedPage) -> PageAttributes:
    """Return what is carried of a page, for modules, outputs and views."""
    return PageAttributes(
        content_type=response.headers.get("content-type") or "",
        encoding=parsed.encoding,
        title=parsed.title,
        content_usage=", ".join(filter(None, response.headers.get_all("content-usage"))) or None,
    )


def shown_page(
    claim: Claim,
    task: Task,
    response: Response,
    parsed: ParsedPage,
    fetched_at: float,
    *,
    with_links: bool = True,
) -> Page:
    """Return the page as modules see it, under the number that it has claimed.

    Without its links it takes a tenth less of what parsing it took.
    """
    assert claim.page_id is not None
    attributes = attributes_of(response, parsed)
    link_at = max(len(task.referrer_chain) - task.hops, 0)
    return Page(
        id=claim.page_id,
        url=task.url,
        depth=task.depth,
        status=response.status or 0,
        **asdict(attributes),
        kind=parsed.kind,
        body=response.body,
        links=parsed.page_links.targets() if with_links else (),
        fetched_at=fetched_at,
        is_revisit=claim.again,
        headers=response.headers,
        found_on=task.referrer_chain[link_at - 1] if link_at else None,
        redirected_from=task.referrer_chain[link_at:],
        exchange=response.exchange,
        coded_body=response.wire_body if response.coding else None,
        language=parsed.language or header_language(response.headers),
        document=LazyDocument(
            response.body, task.url, attributes.content_type or None, parsed.kind
        ),
    )


class PageRows:
    """Makes what outputs want of pages while these are at hand, as long as one wants it.

    What is not made here is made by whoever writes the output, from the stored page.
    """

    def __init__(
        self, fields: tuple[str, ...] = (), *, always: bool = False, with_parsed: bool = False
    ) -> None:
        """Prepare; without `always` tables hold records as soon as there are any."""
        self._fields = fields
        self._always = always
        self._with_parsed = with_parsed

    @property
    def are_wanted(self) -> bool:
        """Whether an output may want them."""
        return bool(self._fields) or self._with_parsed

    @property
    def have_links(self) -> bool:
        """Whether they are made of the page's links, too."""
        return self._with_parsed or "links" in self._fields

    def give_way_to(self, delivered: Delivered) -> bool:
        """Tell whether nothing is wanted any more, because tables hold records."""
        if delivered.given is not None and not self._always:
            self._fields = ()
        return not self.are_wanted

    def pack(self, page: Page, parsed: ParsedPage) -> bytes:
        """Return what the result of a page carries; the text is that of the tree read for links."""
        row = row_of(page, self._fields, parsed.text) if self._fields else b""
        parts = ParsedParts(page.links, page.language) if self._with_parsed else None
        return pack_row(PrecomputedRow(self._fields, row, parts))


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
