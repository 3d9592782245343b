"""URLs typed by people: their normal form, or a message that says what is wrong."""

import re

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.urls.display import shown
from gossamer.urls.normalise import MAX_URL_LENGTH, normalise

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_WITHOUT_HOST = re.compile(r"https?:[/\\]*(?:[?#]|\Z)", re.IGNORECASE)
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}(?:[/?#]|\Z)")


def parse_seed(text: str, role: str = "seed URL") -> Url:
    """Return the normal form of a typed URL, or raise `UsageError` that says what is wrong.

    `role` names the URL in the message.
    """
    url = normalise(text)
    if url is None:
        raise UsageError(f"the {role} {shown(text)} {_complaint(text.strip())}")
    return url


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
    return f"has no scheme; did you mean {shown(with_scheme)}?"
