"""The names of things on the web: URLs, hosts, fingerprints, addresses."""

from collections.abc import Mapping, Sequence
from typing import NewType, TypeAlias

import msgspec

Url = NewType("Url", str)
"""An absolute http or https URL in normal form: pure ASCII, no fragment, no credentials."""

HostKey = NewType("HostKey", str)
"""The key of a host for politeness: its name in lower case, without port and trailing dot."""

Fingerprint = NewType("Fingerprint", str)
"""The form of a URL for comparison: URLs with equal fingerprints count as one page."""

NameTable: TypeAlias = Mapping[str, str | Sequence[str]]
"""A table in place of DNS: from host name (lower case) to "IP" or "IP:PORT" ("[IP]:PORT"), or to
several IPs to try."""


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
