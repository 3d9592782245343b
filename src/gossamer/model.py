"""The data types that all packages share: outcomes, responses, events, pages and counters.

What happens to a URL is data: every URL ends in exactly one `Outcome`. An exception means
that Gossamer itself is broken or was used wrongly (see `gossamer.errors`).
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
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


class Outcome(StrEnum):
    """The final result of a URL: every URL ends in exactly one of these."""

    FETCHED = "fetched"
    REDIRECTED = "redirected"
    NOT_FOUND = "not_found"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    SERVER_ERROR = "server_error"
    RATE_LIMITED = "rate_limited"
    ROBOTS_DENIED = "robots_denied"
    ROBOTS_UNREACHABLE = "robots_unreachable"
    OUT_OF_SCOPE = "out_of_scope"
    NOT_HTML = "not_html"
    TOO_LARGE = "too_large"
    TIMED_OUT = "timed_out"
    DNS_FAILED = "dns_failed"
    CONNECTION_FAILED = "connection_failed"
    TLS_FAILED = "tls_failed"
    BAD_HTTP = "bad_http"
    BAD_REDIRECT = "bad_redirect"
    ADDRESS_REFUSED = "address_refused"
    DUPLICATE = "duplicate"
    SIMILAR = "similar"
    GAVE_UP = "gave_up"


class Cause(StrEnum):
    """Why a download yielded no page, in detail; `policy.failures` maps each to an outcome."""

    NAME_NOT_FOUND = "the host name could not be resolved"
    CONNECTION_REFUSED = "the connection was refused or the host is unreachable"
    CONNECTION_LOST = "the connection broke before the answer was complete"
    KEPT_CONNECTION_LOST = "the connection kept from the last request broke before the answer"
    CONNECT_TIMEOUT = "connecting took too long"
    FIRST_BYTE_TIMEOUT = "the server accepted the connection and then said nothing"
    SILENCE_TIMEOUT = "the server stopped sending in the middle of its answer"
    TOTAL_TIMEOUT = "the whole answer took too long"
    ADDRESS_REFUSED = "the host's address is not on the public internet"
    CERTIFICATE_INVALID = "the server's TLS certificate could not be verified"
    TLS_FAILED = "the TLS handshake failed"
    BAD_HTTP = "the server's answer is not valid HTTP"
    BAD_CODING = "the body's content coding is broken or unknown"
    HEADERS_TOO_LARGE = "the answer's header is too large"
    BODY_TOO_LARGE = "the body is larger than the limit"
    NOT_HTML = "the content type is neither HTML nor text"
    REDIRECT_UNUSABLE = "the redirect has no usable http(s) target"
    REDIRECT_LOOP = "too many redirects in a row"
    STATUS_NOT_FOUND = "the server answered 404"
    STATUS_GONE = "the server answered 410"
    STATUS_RATE_LIMITED = "the server asked us to slow down"
    STATUS_CLIENT_ERROR = "the server refused the request"
    STATUS_SERVER_ERROR = "the server failed"
    STATUS_UNEXPECTED = "the server answered with a status that carries no page"


class Headers(msgspec.Struct, frozen=True):
    """The header fields of an answer, in order, names in lower case."""

    fields: tuple[tuple[str, str], ...] = ()

    def get(self, name: str) -> str | None:
        """Return the first field of that name (given in lower case)."""
        for key, value in self.fields:
            if key == name:
                return value
        return None

    def get_all(self, name: str) -> list[str]:
        """Return every field of that name (given in lower case), in order."""
        return [value for key, value in self.fields if key == name]


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request. A redirect is a result like any other, never followed here."""

    url: Url
    """The URL that was requested."""
    outcome: Outcome
    """FETCHED only when `body` is a complete page of HTML or text."""
    cause: Cause | None = None
    """Why there is no page; None exactly when the outcome is FETCHED or REDIRECTED."""
    detail: str = ""
    """The library's or server's own words about the cause, escaped, for people."""
    status: int | None = None
    """The HTTP status; None when no answer came."""
    headers: Headers = Headers()
    body: bytes = b""
    """The page: transfer and content codings decoded, character encoding untouched."""
    target: Url | None = None
    """Where a redirect leads, resolved and in normal form."""
    address: str | None = None
    """The IP address that answered."""
    started: float
    """When the request started, in seconds of the client's clock."""
    ended: float
    """When its last byte arrived, or the request was given up."""


class EventKind(StrEnum):
    """The kinds of steps that a crawl reports to its observer."""

    FETCHED = "fetched"
    SAVED = "saved"
    SCANNING = "scanning"
    FOUND = "found"
    ALREADY_KNOWN = "already_known"
    OUTSIDE = "outside"
    ADDED = "added"
    UNFETCHED = "unfetched"
    NO_FOLLOW = "no_follow"


class Event(msgspec.Struct, frozen=True):
    """One step of a crawl, about one URL."""

    kind: EventKind
    depth: int
    """The depth of the page that is being processed."""
    url: str
    """The URL it is about; for a link that is not a URL, its text as the page has it."""
    outcome: Outcome | None = None
    """How the URL ended, where the event is UNFETCHED."""
    detail: str = ""
    """For people: the rule, the server's words, the target of a redirect."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page as a module sees it; immutable."""

    id: int
    """The number of the page in its crawl: 1, 2, 3 … without gaps."""
    url: Url
    depth: int
    """The length of the shortest path from a seed, over the links seen so far."""
    status: int
    content_type: str
    encoding: str
    title: str
    body: bytes
    """Transfer and content codings decoded, character encoding untouched."""
    links: tuple[Url, ...]
    fetched_at: float
    """Seconds since the epoch."""
    read_text: Callable[[], str] = str
    """Extracts the text from the parsed page; use `text` instead."""

    @property
    def text(self) -> str:
        """The visible text, extracted on first use."""
        return self.read_text()


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


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the counters of a crawl."""

    waiting: int
    in_progress: int
    finished: int
    pages: int
    bytes: int
    outcomes: dict[str, int]
    hosts: int
    elapsed_s: float
    pages_per_s: float
    ended_by: str | None
    """What ended the crawl; None while it runs."""
    max_pages: int
    max_bytes: int
