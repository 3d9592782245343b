"""Options that are texts, with what some of them must be."""

import re
from collections.abc import Callable
from pathlib import Path

from gossamer.config.kinds import BadValueError, OptionKind


def text(check: Callable[[str], str | None] = lambda _: None) -> OptionKind[str]:
    """Return the kind of texts on one line of which `check` has nothing to complain."""

    def take(value: object) -> str:
        given = value.strip() if isinstance(value, str) else ""
        if not given or not given.isprintable():
            raise BadValueError("must be one line of printable text")
        if complaint := check(given):
            raise BadValueError(complaint)
        return given

    return OptionKind(take)


def for_header(value: str) -> str | None:
    """Complain of what cannot stand in a header field."""
    return None if value.isascii() else "is sent in a header, so it must be ASCII"


def web_address(value: str) -> str | None:
    """Complain of what does not begin like a URL."""
    beginning = re.match(r"https?://[^\s/]", value)
    return None if beginning else "is no web address: it must begin with https:// or http://"


def pattern(value: str) -> str | None:
    """Complain of what is no regular expression."""
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is no regular expression: {error}"
    return None


def folder() -> OptionKind[Path]:
    """Return the kind of paths; ~ is the home directory."""

    def take(value: object) -> Path:
        path = value if isinstance(value, Path) else Path(text().take(value))
        try:
            return path.expanduser()
        except RuntimeError as error:
            raise BadValueError("begins with the home directory of an unknown user") from error

    return OptionKind(take, metavar="PATH")
