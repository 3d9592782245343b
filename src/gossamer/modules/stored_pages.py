"""Stored pages as modules see them: for the replay, and for outputs."""

import msgspec

from gossamer.content.lazy_document import LazyDocument
from gossamer.content.page_parser import ParseRules, header_language, parse
from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Headers, Page, Url
from gossamer.model.page import PageAttributes
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import PageRecord


class ParsedParts(msgspec.Struct, frozen=True, array_like=True):
    """What only the parser knows of a page."""

    links: tuple[Url, ...]
    language: str


async def read_page(
    reader: CrawlReader,
    record: PageRecord,
    rules: ParseRules,
    parsed: ParsedParts | None = None,
) -> Page | None:
    """Return a stored page, parsed by the rules unless `parsed` is there; None: it has expired."""
    answer = await reader.response(record.id)
    if answer is None:
        return None
    arrival = await reader.arrival(record.id)
    content_type = record.content_type or None
    exchange = answer.exchange
    headers = Headers.read(exchange.head) if exchange else Headers()
    kind = kind_of(parse_content_type(content_type), answer.body, rules.accept)
    if parsed is None:
        parsed_page = parse(
            answer.body, url=record.url, content_type=content_type, rules=rules, headers=headers
        )
        language = parsed_page.language or header_language(headers)
        parsed = ParsedParts(parsed_page.page_links.targets(), language)
    attributes = {name: getattr(record, name) for name in PageAttributes.__struct_fields__}
    return Page(
        **attributes,
        id=record.id,
        url=record.url,
        depth=record.depth,
        status=record.status or 0,
        kind=kind,
        body=answer.body,
        links=parsed.links,
        fetched_at=record.fetched_at,
        headers=headers,
        found_on=arrival.found_on,
        redirected_from=arrival.redirected_from,
        exchange=exchange,
        coded_body=None if answer.wire_body is answer.body else answer.wire_body,
        language=parsed.language,
        document=LazyDocument(answer.body, record.url, content_type, kind),
    )
