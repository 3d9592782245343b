"""The kinds of options that are texts, and the checks of some of them."""

import re
from collections.abc import Callable
from pathlib import Path

from gossamer.config.kinds import BadValueError, OptionKind


def text(check: Callable[[str], str | None] = lambda _: None) -> OptionKind[str]:
    """Return the kind of texts on one line; `check` returns what is wrong with one, or None."""

    def take(value: object) -> str:
        given = value.strip() if isinstance(value, str) else ""
        if not given or not given.isprintable():
            raise BadValueError("must be one line of printable text")
        if complaint := check(given):
            raise BadValueError(complaint)
        return given

    return OptionKind(take)


def for_header(value: str) -> str | None:
    """Return why a text cannot be sent in a header field, or None."""
    return None if value.isascii() else "is sent in a header, so it must be ASCII"


def web_address(value: str) -> str | None:
    """Return why a text cannot be the URL of a service, or None."""
    found = re.match(r"https?://[^\s/]", value)
    return None if found else "is not a web address: it must start with https:// or http://"


def host_alone(value: str) -> str | None:
    """Return why a text cannot name one host, or None."""
    is_more = any(sign in value for sign in "/?#*@")
    return "is not one host: write its name alone, such as www.example.org" if is_more else None


def sitemap(value: str) -> str | None:
    """Return why a text does not say which sitemaps to read, or None."""
    is_known = value in {"auto", "off"} or web_address(value) is None
    return None if is_known else "is neither auto nor off nor the URL of a sitemap"


def pattern(value: str) -> str | None:
    """Return why a text is not a regular expression, or None."""
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression: {error}"
    return None


def file_name() -> OptionKind[str]:
    """Return the kind of texts that name a file; in Python it may be a path."""

    def take(value: object) -> str:
        return text().take(str(value) if isinstance(value, Path) else value)

    return OptionKind(take)


def folder() -> OptionKind[Path]:
    """Return the kind of paths; ~ is the home directory."""

    def take(value: object) -> Path:
        path = value if isinstance(value, Path) else Path(text().take(value))
        try:
            return path.expanduser()
        except RuntimeError as error:
            raise BadValueError("is in the home directory of an unknown user") from error

    return OptionKind(take, metavar="PATH")


def body_place() -> OptionKind[str]:
    """Return the kind of places for bodies: the store, a directory or an object store."""

    def take(value: object) -> str:
        place = str(value) if isinstance(value, Path) else text().take(value)
        if place.startswith("s3://"):
            return place.rstrip("/")
        if "://" in place or place.startswith("s3:"):
            raise BadValueError("is neither store nor a directory nor s3://BUCKET/PREFIX")
        return str(folder().take(place))

    return OptionKind(take, metavar="store|DIR|s3://BUCKET/PREFIX")
