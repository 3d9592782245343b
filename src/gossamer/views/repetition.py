"""The page that a URL repeats, for people and programs."""

import msgspec

from gossamer.model import Url
from gossamer.stores.url_record import UrlRecord


class RepeatedPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page that a URL repeats, and how similar they are."""

    id: int
    """Its number."""
    url: Url | None
    """None while it is in progress."""
    similarity: float
    """Of the whole text, from 0 to 1; 1 if the content is the same."""
    own_similarity: float
    """Of the own contents, without navigation, header, footer and sidebar."""


def repeated_page(record: UrlRecord, url: Url | None) -> RepeatedPage | None:
    """Return the page that a URL repeats, whose URL is given; None if it repeats none."""
    if record.duplicate_of is None:
        return None
    return RepeatedPage(
        id=record.duplicate_of,
        url=url,
        similarity=1.0 if record.similarity is None else record.similarity,
        own_similarity=1.0 if record.own_similarity is None else record.own_similarity,
    )
