"""What a person can do about a page that is not to be had."""

from collections.abc import Mapping
from types import MappingProxyType

from gossamer.model import Outcome, Url
from gossamer.stores.contract import UrlRecord

ADVICE: Mapping[Outcome, str] = MappingProxyType(
    {
        Outcome.NOT_FOUND: "check the path",
        Outcome.GONE: "begin at another page",
        Outcome.CLIENT_ERROR: "the page may need a login; begin at another",
        Outcome.SERVER_ERROR: "try again later",
        Outcome.RATE_LIMITED: "try again later",
        Outcome.ROBOTS_DENIED: "begin at a page that the site lets crawlers have",
        Outcome.ROBOTS_UNREACHABLE: "nothing may be fetched until it answers: try again later",
        Outcome.OUT_OF_SCOPE: "begin at the page it leads to, or widen the scope",
        Outcome.NOT_HTML: "begin at an HTML page",
        Outcome.TOO_LARGE: "begin at a smaller page",
        Outcome.TIMED_OUT: "check the address, or try again later",
        Outcome.DNS_FAILED: "check the spelling of the host name and the network",
        Outcome.CONNECTION_FAILED: "check the host, the port and that the server is running",
        Outcome.TLS_FAILED: "check the server's certificate",
        Outcome.BAD_HTTP: "check that the port speaks HTTP",
        Outcome.BAD_REDIRECT: "begin at another page",
        Outcome.DUPLICATE: "begin at another page",
        Outcome.SIMILAR: "begin at another page",
        Outcome.GAVE_UP: "try again later",
        Outcome.ADDRESS_REFUSED: (
            "if the host is yours, allow its address with --allow-network or GOSSAMER_ALLOW_NETWORK"
        ),
    }
)
"""One piece of advice for every way the first page can fail."""


def why_no_page(seed: Url, last: UrlRecord) -> str:
    """Return one sentence: which seed, what went wrong with it or its redirects, what to do."""
    outcome = last.outcome or Outcome.GAVE_UP
    where = "" if last.url == seed else f" (redirected to {last.url})"
    if outcome is Outcome.REDIRECTED:
        outcome = Outcome.BAD_REDIRECT
        what = f"it redirects {last.detail}, in a circle"
    else:
        what = last.detail or outcome.replace("_", " ")
    return f"cannot fetch the seed {seed}{where}: {what}; {ADVICE[outcome]}"
