"""The address of a store, as given to `--store`."""

import re
from pathlib import Path
from typing import Literal

import msgspec

from gossamer.config.values import FOLDER, BadValueError, OptionKind

_PASSWORD = re.compile(r"^([a-z+]+://[^:/@]*:).*(@)")
"""Greedy: an unescaped password may contain any character, and all of it is hidden."""
_SENTINEL_PASSWORD = re.compile(r"(sentinel_password=).*")
_SERVERS = {"redis", "rediss", "valkey", "valkeys", "unix"} | {
    f"{scheme}+sentinel" for scheme in ("redis", "rediss", "valkey", "valkeys")
}


class StoreAddress(msgspec.Struct, frozen=True):
    """The address of a store: its scheme, and the path of a file or the URL of a server."""

    scheme: Literal["memory", "sqlite", "redis", "own-redis"]
    """`own-redis` is a Redis that the crawl starts for itself in its directory: `redis:`."""
    path: Path | None = None
    """The database file; None: the one in the directory of the crawl."""
    url: str = ""
    """The URL of the server, perhaps with a password: never show it."""

    @property
    def is_shared(self) -> bool:
        """Whether other commands can take part in the crawl."""
        return self.scheme in {"redis", "own-redis"}

    @property
    def is_server(self) -> bool:
        """Whether it is a server, which other processes reach as well."""
        return bool(self.url)

    def __repr__(self) -> str:
        return f"<StoreAddress {self}>"

    def __str__(self) -> str:
        if self.is_server:
            return _PASSWORD.sub(r"\1***\2", _SENTINEL_PASSWORD.sub(r"\1***", self.url))
        return f"{self.scheme.removeprefix('own-')}:{self.path or ''}"


IN_DIRECTORY = StoreAddress("sqlite")
OWN_REDIS = StoreAddress("own-redis")


def _take(value: object) -> StoreAddress:
    if isinstance(value, StoreAddress):
        return value
    scheme, _, path = str(value).strip().partition(":")
    match scheme.lower():
        case "memory" if not path:
            return StoreAddress("memory")
        # sqlite:///x would be relative to some and absolute to others.
        case "sqlite" if not path.startswith(("//", ":")):
            return StoreAddress("sqlite", FOLDER.take(path) if path else None)
        case "redis" | "valkey" if not path:
            return OWN_REDIS
        case server if server in _SERVERS and path.startswith("//"):
            return StoreAddress("redis", url=str(value).strip())
    raise BadValueError(
        "is an unknown kind of store: write memory:, sqlite:PATH, redis: or redis://HOST"
    )


STORE = OptionKind(_take, metavar="memory:|sqlite:PATH|redis:|redis://HOST")
