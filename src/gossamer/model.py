"""The data types that all packages share: outcomes, responses, events, pages and counters.

What happens to a URL is data: every URL ends in exactly one `Outcome`. An exception means
that Gossamer itself is broken or was used wrongly (see `gossamer.errors`).
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NewType, Self, TypeAlias

import msgspec

from gossamer.document import Metadata, NoDocument, PageDocument, Table, XPathResult
from gossamer.kinds import ContentKind

if TYPE_CHECKING:  # the parser is loaded where a page is parsed
    from turbohtml import Element

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
    SITEMAP = "sitemap"
    NOT_SITEMAP = "not_sitemap"
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
    HOST_OVER_BUDGET = "host_over_budget"
    TRAP = "trap"


class Cause(StrEnum):
    """Why a download yielded no page, or less than one; `policy.failures` says what follows."""

    NAME_NOT_FOUND = "the host name could not be resolved"
    CONNECTION_REFUSED = "the connection was refused or the host is unreachable"
    CONNECTION_LOST = "the connection broke before the answer was complete"
    CONNECT_TIMEOUT = "connecting took too long"
    FIRST_BYTE_TIMEOUT = "the server accepted the connection and then said nothing"
    SILENCE_TIMEOUT = "the server stopped sending in the middle of its answer"
    TOTAL_TIMEOUT = "the whole answer took too long"
    TOO_SLOW = "the server sent its answer too slowly"
    PROXY_FAILED = "the proxy is not there, or refused to make the connection"
    ADDRESS_REFUSED = "the host's address is not on the public internet"
    CERTIFICATE_INVALID = "the server's TLS certificate could not be verified"
    TLS_FAILED = "the TLS handshake failed"
    BAD_HTTP = "the server's answer is not valid HTTP"
    BAD_CODING = "the body's content coding is broken or unknown"
    HEADERS_TOO_LARGE = "the answer's header is too large"
    BODY_TOO_LARGE = "the body is larger than the limit"
    FILE_TOO_LARGE = "the file is larger than the limit"
    OVER_BUDGET = "the answers for this URL are larger than the limit together"
    NOT_HTML = "the content type is not accepted"
    REDIRECT_UNUSABLE = "the redirect has no usable http(s) target"
    REDIRECT_LOOP = "too many redirects in a row"
    STATUS_NOT_FOUND = "the server answered 404"
    STATUS_GONE = "the server answered 410"
    STATUS_RATE_LIMITED = "the server asked us to slow down"
    STATUS_CLIENT_ERROR = "the server refused the request"
    STATUS_SERVER_ERROR = "the server failed"
    STATUS_UNEXPECTED = "the server answered with a status that carries no page"
    TRAP_REPEATS = "pages of the same shape repeat one another"
    TRAP_MAZE = "pages of the same directory lead on without end"
    NO_MARKERS = "it has no content markers, so none of its links are followed"


# RFC 9110, section 5.1. A line without a valid name, such as "Content-Length : 5", is ignored.
_FIELD = re.compile(r"^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n]*)", re.MULTILINE)


class Headers(msgspec.Struct, frozen=True):
    """The header fields of an answer, in order, names in lower case."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, head: bytes) -> Self:
        """Return the fields of a header as it was received."""
        found = _FIELD.findall(head.decode("latin-1"))
        return cls(tuple([(name.lower(), value.strip(" \t")) for name, value in found]))

    def get(self, name: str) -> str | None:
        """Return the value of the first field of that name, None if there is none."""
        name = name.lower()
        for key, value in self.fields:
            if key == name:
                return value
        return None

    def get_all(self, name: str) -> list[str]:
        """Return the values of all fields of that name, in order."""
        name = name.lower()
        return [value for key, value in self.fields if key == name]


class Exchange(msgspec.Struct, frozen=True):
    """What was sent and received for a page, beside its body."""

    request: bytes
    """The request as it was sent, with its empty line. The values of secret fields, such as
    passwords and cookies, are replaced by a word."""
    head: bytes
    """The status line and the header of the answer as they were received, with the empty line. What
    the server sent before its final answer (1xx) is left out, and folded lines are joined."""
    address: str | None = None
    """The IP address that answered."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request. A redirect is a result like any other, never followed here."""

    url: Url
    """The URL that was requested."""
    outcome: Outcome
    """FETCHED only when `body` is complete and of a type that was accepted."""
    cause: Cause | None = None
    """Why there is no page; None exactly when the outcome is FETCHED or REDIRECTED."""
    detail: str = ""
    """The library's or server's own words about the cause, escaped, for people."""
    status: int | None = None
    """The HTTP status; None when no answer came."""
    headers: Headers = Headers()
    body: bytes = b""
    """The page: transfer and content codings decoded, character encoding untouched."""
    coding: str = ""
    """The content codings of the body, in the order in which they were applied."""
    wire_body: bytes = b""
    """The body with its content codings; the same as `body` if there are none."""
    exchange: Exchange | None = None
    """What was sent and received for a page; None: there is no page."""
    target: Url | None = None
    """Where a redirect leads, resolved and in normal form."""
    address: str | None = None
    """The IP address that answered."""
    started: float
    """When the request started, in seconds of the client's clock."""
    ended: float
    """When its last byte arrived, or the request was given up."""

    def __repr__(self) -> str:
        status = "no answer" if self.status is None else f"status {self.status}"
        size = f"{len(self.body):,} bytes"
        return f"<Response {self.url[:200]} {self.outcome.value}: {status}, {size}>"


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
    NO_MARKERS = "no_markers"


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
    """In normal form."""
    depth: int
    """The length of the shortest path from a seed, over the links seen so far."""
    status: int
    """The HTTP status."""
    content_type: str
    """As in the header of the answer; empty if it has none."""
    kind: ContentKind = ContentKind.HTML
    """What it is, by its content type and its first bytes; only HTML and text are read."""
    encoding: str
    """The character encoding of the body, by its name in the Encoding Standard in lower case."""
    title: str
    """On one line; empty if the page has none."""
    body: bytes
    """Transfer and content codings decoded, character encoding untouched."""
    links: tuple[Url, ...]
    """Where its links lead, in their order: those of the kinds that `--follow` names."""
    fetched_at: float
    """Seconds since the epoch."""
    again: bool = False
    """Whether the page was kept before under this id, and has been visited again."""
    headers: Headers = Headers()
    """The header of the answer."""
    referrer: Url | None = None
    """The page, or the sitemap, before it on the shortest path from a seed; None: it is a seed."""
    redirected_from: tuple[Url, ...] = ()
    """The URLs that redirected here, in order, as far as they are known."""
    exchange: Exchange | None = None
    """The request and the header of the answer, byte for byte; None: unknown."""
    coded_body: bytes | None = None
    """The body with its content codings; None if there were none. Use `wire_body` instead."""
    language: str = ""
    """The language of the page, such as `en` or `pt-BR`, as its markup or its header says; empty if
    neither does."""
    document: PageDocument = NoDocument()
    """Answers for the methods and properties below, which read the page on demand."""

    def __repr__(self) -> str:
        """Return what tells pages apart; a log or a debugger is no place for the body."""
        return (
            f"<Page {self.id} {self.url[:200]} {self.title[:60]!r}: depth {self.depth}, "
            f"{len(self.body):,} bytes, {len(self.links):,} links>"
        )

    @property
    def address(self) -> str | None:
        """The IP address that answered; None: unknown."""
        return self.exchange.address if self.exchange else None

    @property
    def wire_body(self) -> bytes:
        """The body as it was received: content codings not undone, transfer codings are."""
        return self.body if self.coded_body is None else self.coded_body

    @property
    def text(self) -> str:
        """The visible words, with one space between them; none if it is neither HTML nor text."""
        return self.document.text()

    @property
    def main_text(self) -> str:
        """The text of the main content, in lines: no navigation, header, footer or sidebar.

        The whole text if nothing on the page reads as content.
        """
        return self.document.main_text()

    @property
    def markdown(self) -> str:
        """The main content as Markdown, or else the whole page; links are absolute."""
        return self.document.markdown()

    @property
    def metadata(self) -> Metadata:
        """What the page says about itself: description, dates, Open Graph, JSON-LD and more."""
        return self.document.metadata()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of the page, in their order."""
        return self.document.tables()

    def select(self, css: str) -> "list[Element]":
        """Return the elements that a CSS selector matches, in their order.

        They are turbohtml's: `element.text`, `element.attr("href")`, `element.select("li")`. All
        modules share them, so they are not to be changed. A wrong selector raises ValueError.
        """
        return self.document.select(css)

    def select_one(self, css: str) -> "Element | None":
        """Return the first element that a CSS selector matches, None if there is none."""
        return self.document.select_one(css)

    def xpath(self, expression: str) -> XPathResult:
        """Return what an XPath 1.0 expression yields; a wrong one raises ValueError.

        That is a list of elements and texts, or a number, a truth or a text.
        """
        return self.document.xpath(expression)


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


class Receipt(msgspec.Struct, frozen=True):
    """What was received for a task that is given back."""

    received: int = 0
    """How many bytes of bodies."""
    short: bool = False
    """Whether it was broken off because what is left of the budget is too little for it."""


class CauseCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many URLs ended with an outcome for the same cause."""

    outcome: Outcome
    cause: Cause
    status: int | None
    """The HTTP status of the last answer; None if none came."""
    urls: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the counters of a crawl."""

    waiting: int
    in_progress: int
    finished: int
    pages: int
    """URLs with a kept page."""
    visits: int
    """How often a page was fetched and kept: more than `pages` if some were visited again."""
    bytes: int
    """The size of the pages that were read, decoded."""
    received: int = 0
    """How many bytes of bodies were received, as they were sent: what `max_bytes` limits."""
    outcomes: dict[str, int]
    """How the finished URLs ended, each at its last visit."""
    causes: list[CauseCount] = []
    """Why downloads failed, the most frequent cause first."""
    hosts: int
    elapsed_s: float
    pages_per_s: float
    """Each visit of a page counts."""
    urls_per_s: float = 0.0
    """How many URLs this run has finished in a second, with a page or without."""
    listed: int = 0
    """How many URLs were found in sitemaps."""
    over_host_urls: int = 0
    """How many links were left out, because their host has as many URLs as it may have."""
    ended_by: str | None
    """What ended the crawl; None while it runs."""
    max_pages: int
    max_bytes: int
    relaxing: bool = False
    """Whether a shorter path was found that is not followed to its end: depths may decrease."""
    resting_s: float = 0.0
    """How long no host is asked yet, because the server of the store was restarted or replaced."""
