"""Where the state of a crawl is kept, as `--store` writes it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gossamer.config.kinds import BadValueError, Kind
from gossamer.config.texts import folder


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A store: its scheme and, for a file, its path."""

    scheme: Literal["memory", "sqlite"]
    path: Path | None = None
    """The database; None is a file in the directory of the crawl."""

    def __str__(self) -> str:
        return f"{self.scheme}:{self.path or ''}"


IN_DIRECTORY = StoreAddress("sqlite")


def store_address() -> Kind[StoreAddress]:
    """Return the kind of addresses of stores."""
    return Kind(_take, metavar="memory:|sqlite:PATH")


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
        case "redis" | "rediss" | "valkey":
            complaint = "is a Redis, which is not yet supported"
        case _:
            complaint = "is no store that is known"
    raise BadValueError(f"{complaint}: write memory: or sqlite:PATH")
