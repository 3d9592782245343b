"""Where the state of a crawl is kept, as `--store` writes it."""

import re
from pathlib import Path
from typing import Literal

import msgspec

from gossamer.config.kinds import BadValueError, OptionKind
from gossamer.config.texts import folder

_PASSWORD = re.compile(r"^([a-z]+://[^:/@]*:).*(@)")
"""Greedy: a password that was not escaped may hold any sign, and is hidden whole."""


class StoreAddress(msgspec.Struct, frozen=True):
    """A store: its scheme and, for a file, its path, for a server, its URL."""

    scheme: Literal["memory", "sqlite", "redis"]
    path: Path | None = None
    """The database; None is a file in the directory of the crawl."""
    url: str = ""
    """The URL of the server, perhaps with a password: not for people."""

    def __repr__(self) -> str:
        return f"<StoreAddress {self}>"

    def __str__(self) -> str:
        if self.scheme == "redis":
            return _PASSWORD.sub(r"\1***\2", self.url)
        return f"{self.scheme}:{self.path or ''}"


IN_DIRECTORY = StoreAddress("sqlite")


def store_address() -> OptionKind[StoreAddress]:
    """Return the kind of addresses of stores."""
    return OptionKind(_take, metavar="memory:|sqlite:PATH|redis://HOST")


def _take(value: object) -> StoreAddress:
    if isinstance(value, StoreAddress):
        return value
    scheme, _, path = str(value).strip().partition(":")
    match scheme.lower():
        case "memory" if not path:
            return StoreAddress("memory")
        # sqlite:///x would be relative to some and absolute to others.
        case "sqlite" if not path.startswith(("//", ":")):
            return StoreAddress("sqlite", folder().take(path) if path else None)
        case "redis" | "rediss" | "valkey" | "valkeys" | "unix" if path.startswith("//"):
            return StoreAddress("redis", url=str(value).strip())
        case _:
            complaint = "is no store that is known"
    raise BadValueError(f"{complaint}: write memory:, sqlite:PATH or redis://HOST")
