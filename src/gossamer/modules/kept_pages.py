"""The pages of a stored crawl, as a module sees them: for the replay, and for outputs."""

import msgspec

from gossamer.content.lazy_document import LazyDocument
from gossamer.content.page_parser import ParseRules, header_language, parse
from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Headers, Page, Url
from gossamer.stores.reading import Arrival, CrawlReader, KeptAnswer
from gossamer.stores.url_record import PageRecord


class Reading(msgspec.Struct, frozen=True, array_like=True):
    """What of a page only the parser knows."""

    links: tuple[Url, ...]
    language: str


async def read_page(
    reader: CrawlReader, record: PageRecord, rules: ParseRules, reading: Reading | None = None
) -> Page | None:
    """Return a kept page; None if its body has expired.

    Whoever has its reading saves parsing it.
    """
    answer = await reader.answer(record.id)
    if answer is None:
        return None
    return page_of(record, answer, await reader.arrival(record.id), rules, reading)


def page_of(
    record: PageRecord,
    answer: KeptAnswer,
    arrival: Arrival,
    rules: ParseRules,
    reading: Reading | None = None,
) -> Page:
    """Return a page from what was kept of it, read by the rules of its crawl."""
    url, content_type = record.url, record.content_type or None
    exchange = answer.exchange
    headers = Headers.read(exchange.head) if exchange else Headers()
    kind = kind_of(parse_content_type(content_type), answer.body, rules.accept)
    if reading is None:
        reading = _read(answer.body, url, content_type, headers, rules)
    return Page(
        id=record.id,
        url=url,
        depth=record.depth,
        status=record.status or 0,
        content_type=record.content_type,
        kind=kind,
        encoding=record.encoding,
        title=record.title,
        body=answer.body,
        links=reading.links,
        fetched_at=record.fetched_at,
        headers=headers,
        referrer=arrival.referrer,
        redirected_from=arrival.redirected_from,
        exchange=exchange,
        coded_body=None if answer.wire_body is answer.body else answer.wire_body,
        language=reading.language,
        document=LazyDocument(answer.body, url, content_type, kind),
    )


def _read(
    body: bytes, url: Url, content_type: str | None, headers: Headers, rules: ParseRules
) -> Reading:
    parsed = parse(body, url=url, content_type=content_type, rules=rules, headers=headers)
    return Reading(parsed.page_links.targets(), parsed.language or header_language(headers))
