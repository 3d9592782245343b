"""The cookies of one request: given to libcurl before it, and taken from libcurl after it."""

from collections.abc import Iterable

import pycurl

_FORGET_ALL = "ALL"


class RequestCookies:
    """The cookies that a request may send, and after it those that there are then.

    libcurl chooses from them by the URL, and changes them by the answer. They are lines in the
    format of Netscape's cookie file; each byte is a character.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)

    def __repr__(self) -> str:
        """Return how many there are: what they are is a secret."""
        return f"<RequestCookies: {len(self.lines)}>"

    def collect(self, curl: pycurl.Curl) -> None:
        """Take the cookies from a handle that has performed the request."""
        found: list[bytes] = curl.getinfo_raw(pycurl.INFO_COOKIELIST)
        self.lines = tuple(line.decode("latin-1") for line in found)
        curl.setopt(pycurl.COOKIELIST, _FORGET_ALL)


def give_cookies(curl: pycurl.Curl, cookies: RequestCookies | None) -> None:
    """Give a handle these cookies in place of those that it has; None: it is to have none."""
    curl.setopt(pycurl.COOKIELIST, _FORGET_ALL)
    if cookies is not None:
        curl.setopt(pycurl.COOKIEFILE, "")  # from now on it takes cookies
        for line in cookies.lines:
            curl.setopt(pycurl.COOKIELIST, line.encode("latin-1"))
