"""A page that was fetched, as modules see it and as a store keeps it."""

from gossamer.content.lazy_document import LazyDocument
from gossamer.content.page_parser import ParsedPage, header_language
from gossamer.frontier.contract import Claim, KeptPage, Task
from gossamer.model import Page, Response
from gossamer.modules.contract import Delivered
from gossamer.modules.kept_pages import Reading
from gossamer.outputs.rows import Carried, pack_carried, row_of
from gossamer.stores.bodies.content import ContentPacker


class PageRows:
    """Makes what outputs want of pages while these are at hand, as long as one wants it.

    What is not made here is made by whoever writes the output, from the page as it is kept.
    """

    def __init__(
        self,
        fields: tuple[str, ...] = (),
        *,
        always: bool = False,
        with_readings: bool = False,
    ) -> None:
        """Prepare; without `always` tables hold records as soon as there are any."""
        self._fields = fields
        self._always = always
        self._with_readings = with_readings

    @property
    def are_wanted(self) -> bool:
        """Whether an output may want them."""
        return bool(self._fields) or self._with_readings

    @property
    def have_links(self) -> bool:
        """Whether they are made of the page's links, too."""
        return self._with_readings or "links" in self._fields

    def give_way_to(self, delivered: Delivered) -> bool:
        """Tell whether nothing is wanted any more, because tables hold records."""
        if delivered.given is not None and not self._always:
            self._fields = ()
        return not self.are_wanted

    def pack(self, page: Page, parsed: ParsedPage) -> bytes:
        """Return what the result of a page carries; the text is that of the tree read for links."""
        row = row_of(page, self._fields, parsed.text) if self._fields else b""
        reading = Reading(page.links, page.language) if self._with_readings else None
        return pack_carried(Carried(self._fields, row, reading))


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

    Whoever does not look at its links saves a tenth of what parsing it took.
    """
    assert claim.page_id is not None
    content_type = response.headers.get("content-type")
    link_at = max(len(task.before) - task.hops, 0)
    return Page(
        id=claim.page_id,
        url=task.url,
        depth=task.depth,
        status=response.status or 0,
        content_type=content_type or "",
        kind=parsed.kind,
        encoding=parsed.encoding,
        title=parsed.title,
        body=response.body,
        links=parsed.page_links.targets() if with_links else (),
        fetched_at=fetched_at,
        again=claim.again,
        headers=response.headers,
        referrer=task.before[link_at - 1] if link_at else None,
        redirected_from=task.before[link_at:],
        exchange=response.exchange,
        coded_body=response.wire_body if response.coding else None,
        language=parsed.language or header_language(response.headers),
        document=LazyDocument(response.body, task.url, content_type, parsed.kind),
    )


def kept_page(
    packer: ContentPacker, response: Response, parsed: ParsedPage, fetched_at: float
) -> KeptPage:
    """Return the page as it is kept, without its number."""
    content = packer.pack(
        response.body, response.exchange, coding=response.coding, wire_body=response.wire_body
    )
    return KeptPage(
        page_id=0,
        size=len(response.body),
        digest=parsed.digest,
        content=content,
        content_type=response.headers.get("content-type") or "",
        encoding=parsed.encoding,
        title=parsed.title,
        fetched_at=fetched_at,
    )
