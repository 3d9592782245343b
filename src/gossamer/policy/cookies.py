"""The cookie jar of one registered domain: what of it has changed, and what is kept.

Which cookies an answer may set, and with which requests they are sent, is decided by libcurl, which
follows RFC 6265 and its successor: domains, paths, prefixes of names, expiry, the public suffix
list. A cookie is a line in the format of Netscape's cookie file here, as libcurl reads and writes
it; this module keeps such lines apart, bounded, and with the domain that they belong to.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

MAX_COOKIES = 50
"""The most cookies that a registered domain may have, as RFC 6265 asks for at least; of more, those
that were set last are kept."""
MAX_COOKIE_DOMAINS = 10_000
"""The most registered domains of which cookies are kept; of more, nothing is kept."""
_MAX_LINE_LENGTH = 5000
"""libcurl refuses what is longer than 4 kB, without the domain and the path."""

_FIELDS = 7
_HTTP_ONLY = "#HttpOnly_"


class Cookie(NamedTuple):
    """A cookie: what tells it from others, and the line that libcurl takes and returns."""

    key: str
    line: str


class CookieChanges(NamedTuple):
    """What a request has changed in a jar."""

    changed: Sequence[Cookie]
    """New cookies, and others that replace the one of the same key."""
    dropped: Sequence[str]
    """The keys of cookies that have expired or were deleted."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.dropped)


def read_cookie(line: str, domain: str) -> Cookie | None:
    """Return the cookie of a line; None if it does not belong to the registered domain.

    A libcurl without the public suffix list would accept one for a whole suffix.
    """
    fields = line.split("\t")
    if len(fields) != _FIELDS or len(line) > _MAX_LINE_LENGTH:
        return None
    scope = fields[0].removeprefix(_HTTP_ONLY).lower()  # libcurl leaves it as the server wrote it
    host = scope.removeprefix(".")
    if host != domain and not host.endswith(f".{domain}"):
        return None
    return Cookie("\t".join((scope, fields[2], fields[5])), line)


def find_changes(jar: Collection[Cookie], lines: Iterable[str], domain: str) -> CookieChanges:
    """Return what has changed in a jar of which libcurl returns these lines after a request."""
    before = dict(jar)
    after = dict(cookie for line in lines if (cookie := read_cookie(line, domain)) is not None)
    return CookieChanges(
        [Cookie(key, line) for key, line in after.items() if before.get(key) != line],
        [key for key in before if key not in after],
    )


def change_jar(jar: Collection[Cookie], changes: CookieChanges) -> list[Cookie]:
    """Return a jar with changes, which were perhaps found in an earlier state of it."""
    gone = {*changes.dropped, *(cookie.key for cookie in changes.changed)}
    return [*(cookie for cookie in jar if cookie.key not in gone), *changes.changed][-MAX_COOKIES:]
