"""The kinds of options that say how requests are made: header fields, secrets, proxies, files.

A value that may hold a secret is never quoted in a message: `HiddenValueError`.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import urlsplit

from gossamer.config.values import NONE, BadValueError, HiddenValueError, OptionKind, text

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

_OWNED = {
    "host": "it follows from the URL",
    "user-agent": "use --user-agent, or user-agent in a rule",
    "accept-encoding": "it says which codings can be decoded",
    "connection": "the client keeps connections by itself",
    **dict.fromkeys(
        ("keep-alive", "proxy-connection", "upgrade", "http2-settings"),
        "the client keeps connections by itself",
    ),
    **dict.fromkeys(
        ("content-length", "transfer-encoding", "te", "trailer", "expect", "content-type"),
        "a GET has no body",
    ),
    **dict.fromkeys(
        ("range", "if-range", "if-match", "if-none-match"),
        "a page is asked for as a whole",
    ),
    **dict.fromkeys(("if-modified-since", "if-unmodified-since"), "a page is asked for as a whole"),
    "proxy-authorization": "use --proxy-auth-env, or proxy-auth-env in a rule",
}
"""The fields that the client sends itself, or that would break the framing, by lower-case name."""

_SECRET_WORDS = re.compile(
    r"authorization|cookie|token|secret|passw|credential|api-?_?key|access-?_?key|session|signature"
)


def header_fields() -> OptionKind[tuple[str, ...]]:
    """Return the kind of lists of header fields, each `Name: value`; none of them is a secret."""

    def check(name: str, value: str) -> None:
        if _SECRET_WORDS.search(name.lower()):
            raise HiddenValueError(
                f"has {name}, which is a secret: a value given here would be stored with the crawl "
                f"and shown; put it into an environment variable and write header-env "
                f'"{name}: VARIABLE"' + _or_auth(name)
            )
        if not value.isascii() or not value.isprintable():
            raise HiddenValueError(f"has {name}, whose value must be printable ASCII on one line")

    return _fields(check, "'NAME: VALUE'", "X-Team: search")


def header_variables() -> OptionKind[tuple[str, ...]]:
    """Return the kind of lists of `Name: VARIABLE`: fields whose values are in variables."""

    def check(name: str, value: str) -> None:
        if not _VARIABLE.fullmatch(value):
            raise HiddenValueError(
                f"has {name} without the name of an environment variable: write "
                f'"{name}: VARIABLE", and the value into that variable'
            )

    return _fields(check, "'NAME: VARIABLE'", "X-Api-Key: SITE_KEY")


def variable_name() -> OptionKind[str]:
    """Return the kind of names of environment variables that hold a secret."""

    def take(value: object) -> str:
        if isinstance(value, str) and _VARIABLE.fullmatch(value.strip()):
            return value.strip()
        raise HiddenValueError(
            "must be the name of an environment variable, such as SITE_PASSWORD, and not the "
            "secret itself"
        )

    return OptionKind(take, metavar="VARIABLE")


def named_file() -> OptionKind[str]:
    """Return the kind of files that are read when the crawl starts: absolute paths.

    A crawl that goes on from another directory then finds them again.
    """

    def take(value: object) -> str:
        path = Path(text().take(str(value) if isinstance(value, Path) else value))
        try:
            return os.path.abspath(path.expanduser())  # noqa: PTH100 -- links stay as they are
        except (RuntimeError, OSError) as error:
            raise BadValueError("is in a directory that is not there") from error

    return OptionKind(take, metavar="FILE")


def proxy_address() -> OptionKind[str]:
    """Return the kind of addresses of proxies: `scheme://host:port`, without a password."""

    def take(value: object) -> str:
        given = text().take(value)
        try:
            parts = urlsplit(given)
            port = parts.port
        except ValueError as error:
            raise HiddenValueError("is not the address of a proxy") from error
        if parts.username is not None or "@" in given:
            raise HiddenValueError(
                "must not contain a user or password: put user:password into an environment "
                "variable and name that with proxy-auth-env"
            )
        has_more = parts.path not in {"", "/"} or parts.query or parts.fragment
        if parts.scheme not in _PROXY_SCHEMES or not parts.hostname or has_more or not port:
            raise BadValueError(
                f"is not the address of a proxy: write {', '.join(_PROXY_SCHEMES[:-1])} or "
                f"{_PROXY_SCHEMES[-1]}, host and port, such as http://proxy.example:3128"
            )
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return f"{parts.scheme}://{host}:{port}"

    return OptionKind(take, metavar="PROXY")


def split_field(field: str) -> tuple[str, str]:
    """Return name and value of a checked field."""
    name, _, value = field.partition(":")
    return name.strip(" \t"), value.strip(" \t")


def _fields(
    check: Callable[[str, str], None], metavar: str, example: str
) -> OptionKind[tuple[str, ...]]:
    """Return the kind of lists of `Name: …`; in one text, ` | ` separates them."""

    def take_one(value: object) -> str:
        name, value = split_field(value) if isinstance(value, str) else ("", "")
        if not _NAME.fullmatch(name):
            raise HiddenValueError(f'must be written as "Name: value", such as "{example}"')
        if name.lower() in _OWNED:
            raise HiddenValueError(f"has {name}, which cannot be set here: {_OWNED[name.lower()]}")
        if not value:
            raise HiddenValueError(f"has {name} without a value")
        check(name, value)
        return f"{name}: {value}"

    def take(value: object) -> tuple[str, ...]:
        given = value.split(" | ") if isinstance(value, str) else value
        if not isinstance(given, list | tuple):
            raise HiddenValueError(f'must be a list of strings, such as ["{example}"]')
        found = () if list(given) == [NONE] else tuple(take_one(one) for one in given)
        names = [split_field(one)[0].lower() for one in found]
        if repeated := next((one for one in names if names.count(one) > 1), None):
            raise HiddenValueError(f"has {repeated} twice: write its values in one field")
        return found

    return OptionKind(take, lambda value: " | ".join(value) or NONE, metavar)


def _or_auth(name: str) -> str:
    return ", or use auth-env" if name.lower() == "authorization" else ""
