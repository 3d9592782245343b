"""URLs typed by people: their normal form, or a message that says what is wrong."""

import re

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.urls.display import shown
from gossamer.urls.normalise import MAX_URL_LENGTH, normalise

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_WITHOUT_HOST = re.compile(r"https?:[/\\]*(?:[?#]|\Z)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?:https?:[/\\]*|[/\\]{2,})[^/\\?#]+@", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(?:[/?#]|\Z)")


def parse_seed(text: str, role: str = "seed URL") -> Url:
    """Return the normal form of a typed URL, or raise `UsageError` that says what is wrong.

    `role` names the URL in the message.
    """
    url = normalise(text)
    if _CREDENTIALS.match(text.strip()):
        raise UsageError(_complaint_about_credentials(url, role))
    if url is None:
        raise UsageError(f"the {role} {_shown(text)} {_complaint(text.strip())}")
    return url


def _complaint_about_credentials(url: Url | None, role: str) -> str:
    """Say what is wrong without showing the password; a normal form has none."""
    meant = f"write {url} instead" if url else "leave out what stands before the @"
    return f"the {role} has a user name or a password in it, which is never sent: {meant}"


def _shown(text: str) -> str:
    """Return the text for a message, without what may be a password."""
    head, at, rest = text[:MAX_URL_LENGTH].rpartition("@")  # a password may have one
    if not at or ":" not in head:
        return shown(text)
    scheme, slashes, _ = head.partition("//")
    return shown(f"{scheme}{slashes}…@{rest}" if slashes else f"…@{rest}")


def _complaint(text: str) -> str:
    if not text:
        return "is empty; give an address such as http://example.org/"
    if len(text) > MAX_URL_LENGTH:
        return f"is too long: it has {len(text)} characters, at most {MAX_URL_LENGTH} are allowed"
    scheme = _SCHEME.match(text)
    if scheme is None or _HOST_AND_PORT.match(text):
        return _complaint_without_scheme(text)
    if scheme[1].lower() not in {"http", "https"}:
        return f"has the scheme {shown(scheme[1])}, but only http and https can be crawled"
    if _WITHOUT_HOST.match(text):
        return "has no host name"
    return "is not a valid URL; check its host name and port"


def _complaint_without_scheme(text: str) -> str:
    with_scheme = f"http://{text.lstrip('/')}"
    if normalise(with_scheme) is None:
        return "is not a URL; give an address such as http://example.org/"
    return f"has no scheme; did you mean {_shown(with_scheme)}?"
