"""The progress lines of the classic crawler: depth, indentation, a word and the URL."""

from gossamer.model import Event, EventKind, Outcome
from gossamer.observe.escape import printable

MAX_INDENT = 40
"""The limit of the indentation: the depth of a spider trap has none."""
MAX_LINE = 4096

EVENT_WORDS = {
    EventKind.FETCHED: "Fetched",
    EventKind.SAVED: "Saved",
    EventKind.SCANNING: "Scanning",
    EventKind.FOUND: "Found",
    EventKind.ALREADY_KNOWN: "IgnDupl",
    EventKind.OUTSIDE: "IgnExtrn",
    EventKind.ADDED: "Added",
    EventKind.NO_FOLLOW: "NoFollow",
    EventKind.NO_MARKERS: "NoMarkers",
}

OUTCOME_WORDS = {
    Outcome.REDIRECTED: "Redirect",
    Outcome.NOT_FOUND: "NotFound",
    Outcome.GONE: "Gone",
    Outcome.CLIENT_ERROR: "Refused",
    Outcome.SERVER_ERROR: "SrvError",
    Outcome.RATE_LIMITED: "TooFast",
    Outcome.ROBOTS_DENIED: "Forbidden",
    Outcome.ROBOTS_UNREACHABLE: "NoRobots",
    Outcome.OUT_OF_SCOPE: "IgnExtrn",
    Outcome.NOT_HTML: "NotHtml",
    Outcome.SITEMAP: "Sitemap",
    Outcome.NOT_SITEMAP: "NoSitemap",
    Outcome.TOO_LARGE: "TooLarge",
    Outcome.TIMED_OUT: "TimedOut",
    Outcome.DNS_FAILED: "NoServer",
    Outcome.CONNECTION_FAILED: "NoConnect",
    Outcome.TLS_FAILED: "BadCert",
    Outcome.BAD_HTTP: "BadHttp",
    Outcome.BAD_REDIRECT: "BadRedir",
    Outcome.ADDRESS_REFUSED: "Unsafe",
    Outcome.DUPLICATE: "Duplicate",
    Outcome.SIMILAR: "Similar",
    Outcome.GAVE_UP: "GaveUp",
    Outcome.HOST_OVER_BUDGET: "OverBudg",
    Outcome.TRAP: "Trap",
}
"""One word of at most nine letters for every outcome without a page."""


def progress_line(event: Event) -> str:
    """Return one line: depth in two columns, a space for each level, the word in nine, the URL."""
    word = EVENT_WORDS[event.kind] if event.outcome is None else OUTCOME_WORDS[event.outcome]
    detail = f" ({event.detail})" if event.detail else ""
    indent = " " * min(event.depth, MAX_INDENT)
    # A link that is not a URL is shown as the page has it, which may be anything.
    return printable(f"{event.depth:2d} {indent}{word:>9s}: {event.url}{detail}", MAX_LINE)
