"""A page that was fetched, as modules see it and as a store keeps it."""

from gossamer.codings import ContentPacker
from gossamer.content import Analysis, LazyDocument, header_language
from gossamer.frontier.claim import Claim, KeptPage
from gossamer.frontier.contract import Task
from gossamer.model import Page, Response


def shown_page(
    claim: Claim,
    task: Task,
    response: Response,
    parsed: Analysis,
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
        links=parsed.found.targets() if with_links else (),
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
    packer: ContentPacker, response: Response, parsed: Analysis, fetched_at: float
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
