"""The values of options that say how requests are made: header fields, secrets, proxies, files.

A value that may hold a secret is never quoted in a message: `HiddenValueError`.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn, TypeAlias
from urllib.parse import urlsplit

from gossamer.config.values import NONE, BadValueError, HiddenValueError, OptionKind, text

Fields: TypeAlias = tuple[str, ...]

MASK: Final = "********"


class Secret:
    """A text that only `reveal` shows.

    It is not a struct and refuses to be pickled, so that no encoder takes it along by accident.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, to be sent where it belongs."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return MASK

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not copied")


DIRECT: Final = NONE
"""The word for no proxy."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2: a token
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")

_BY_ITSELF = "the client keeps connections by itself"
_OWNED = {
    name: reason
    for names, reason in (
        ("host", "it follows from the URL"),
        ("user-agent", "use --user-agent, or user-agent in a rule"),
        ("accept-encoding", "it says which codings can be decoded"),
        ("connection keep-alive proxy-connection upgrade http2-settings", _BY_ITSELF),
        ("content-length content-type expect te trailer transfer-encoding", "a GET has no body"),
        ("if-match if-none-match if-range range", "a page is asked for as a whole"),
        ("if-modified-since if-unmodified-since", "a page is asked for as a whole"),
        ("proxy-authorization", "use --proxy-auth, or proxy-auth in a rule"),
    )
    for name in names.split()
}
"""The fields that the client sends itself, or that would break the framing, by lower-case name."""

_SECRET_WORDS = re.compile(
    r"authorization|cookie|token|secret|passw|credential|api-?_?key|access-?_?key|session|signature"
)


def split_field(field: str) -> tuple[str, str]:
    """Return name and value of a header field."""
    name, _, value = field.partition(":")
    return name.strip(" \t"), value.strip(" \t")


def _fields(check: Callable[[str, str], str], metavar: str, example: str) -> OptionKind[Fields]:
    """Return the kind of lists of `Name: value`; in one text, ` | ` separates them.

    `check` gets name and value of a field, and returns the value as it is kept.
    """

    def take_field(field: object) -> str:
        name, value = split_field(field) if isinstance(field, str) else ("", "")
        if not _NAME.fullmatch(name):
            raise HiddenValueError(f'must be written as "Name: value", such as "{example}"')
        if name.lower() in _OWNED:
            raise HiddenValueError(f"has {name}, which cannot be set here: {_OWNED[name.lower()]}")
        if not value:
            raise HiddenValueError(f"has {name} without a value")
        return f"{name}: {check(name, value)}"

    def take(value: object) -> Fields:
        items = value.split(" | ") if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise HiddenValueError(f'must be a list of strings, such as ["{example}"]')
        fields = () if list(items) == [NONE] else tuple(map(take_field, items))
        names = [split_field(field)[0].lower() for field in fields]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise HiddenValueError(f"has {repeated} twice: write its values in one field")
        return fields

    return OptionKind(take, lambda value: " | ".join(value) or NONE, metavar)


def _check_plain(name: str, value: str) -> str:
    if _SECRET_WORDS.search(name.lower()):
        raise HiddenValueError(
            f"has {name}, which is a secret: a value given here would be stored with the crawl and "
            f'shown; put it into an environment variable and write secret-header "{name}: '
            f'env:VARIABLE"' + (", or use auth" if name.lower() == "authorization" else "")
        )
    if not value.isascii() or not value.isprintable():
        raise HiddenValueError(f"has {name}, whose value must be printable ASCII on one line")
    return value


def _check_secret(name: str, value: str) -> str:
    try:
        return SECRET.take(value)
    except HiddenValueError as error:
        raise HiddenValueError(f"has {name}, which {error}") from error


def _take_file(value: object) -> str:
    path = Path(text().take(value))
    try:
        return os.path.abspath(path.expanduser())  # noqa: PTH100 -- links stay as they are
    except (RuntimeError, OSError) as error:
        raise BadValueError("is in a directory that is not there") from error


def _take_secret(value: object) -> str:
    place, _, name = value.strip().partition(":") if isinstance(value, str) else ("", "", "")
    if place == "env" and _VARIABLE.fullmatch(name):
        return f"env:{name}"
    if place == "file" and name:
        return f"file:{_take_file(name)}"
    raise HiddenValueError(
        "must say where the secret is, env:VARIABLE or file:PATH, and not the secret itself"
    )


def _take_proxy(value: object) -> str:
    address = text().take(value)
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise HiddenValueError("is not the address of a proxy") from error
    if parts.username is not None or "@" in address:
        raise HiddenValueError(
            "must not contain a user or password: put user:password into an environment "
            "variable, and name that with proxy-auth env:VARIABLE"
        )
    has_more = parts.path not in {"", "/"} or parts.query or parts.fragment
    if parts.scheme not in _PROXY_SCHEMES or not parts.hostname or has_more or not port:
        raise BadValueError(
            f"is not the address of a proxy: write {', '.join(_PROXY_SCHEMES[:-1])} or "
            f"{_PROXY_SCHEMES[-1]}, host and port, such as http://proxy.example:3128"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


NAMED_FILE = OptionKind(_take_file, metavar="FILE")
"""Files that are read when the crawl starts: absolute paths, so that a crawl that goes on from
another directory finds them again."""
SECRET = OptionKind(_take_secret, metavar="env:VARIABLE|file:PATH")
"""Where a secret is: what is stored and shown names it only."""
HEADER_FIELDS = _fields(_check_plain, "'NAME: VALUE'", "X-Team: search")
"""Header fields, none of which is a secret."""
SECRET_HEADERS = _fields(_check_secret, "'NAME: env:VARIABLE'", "X-Api-Key: env:SITE_KEY")
"""Header fields with the place of their value."""
PROXY = OptionKind(_take_proxy, metavar="PROXY")
"""Addresses of proxies, `scheme://host:port`, without a password."""
