"""A URL, as scorers see it."""

import msgspec

from gossamer.model.names import HostKey, Url


class Candidate(msgspec.Struct, frozen=True):
    """A URL that waits to be scored."""

    id: int
    url: Url
    host: HostKey
    domain: str
    depth: int
    credit: float
    """The importance that its domain has collected from the crawl's own links."""
    top_credit: float
    """The largest credit of any domain so far."""
    score: float | None = None
    """The score that was given with the link by which it was first found; None: none was."""
    lastmod: float | None = None
    """When it was changed last, in seconds since the epoch, if a sitemap says so."""
    priority: float | None = None
    """How important its site says that it is, 0 to 1, if a sitemap says so."""
