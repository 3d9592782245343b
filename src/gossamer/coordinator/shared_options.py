"""The options of a crawl as they are kept in the store, for every process that takes part."""

from typing import Any

import msgspec

from gossamer.config import OPTIONS, CrawlOptions
from gossamer.errors import CrawlError

LOCAL = frozenset(
    {
        *("dir", "store", "insecure_store", "name", "fresh"),
        *("pagerank_key", "log_format", "verbose", "quiet"),
    }
)
"""What each process has of its own: where it is, how it shows itself, and its secrets."""


def pack_options(options: CrawlOptions) -> bytes:
    """Return the options that all processes share."""
    return msgspec.json.encode(
        {
            option.field: getattr(options, option.field)
            for option in OPTIONS
            if option.field not in LOCAL
        }
    )


def unpack_options(note: bytes, own: CrawlOptions) -> CrawlOptions:
    """Return the options of the crawl for a process that has its own ones besides."""
    try:
        shared = msgspec.json.decode(note, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise CrawlError(f"the options of the crawl in the store are damaged: {error}") from error
    known = {option.field for option in OPTIONS}
    if unknown := sorted(shared.keys() - known):
        raise CrawlError(
            f"the crawl was begun by another version of Gossamer: {unknown[0]} is not known here"
        )
    values: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in shared.items()
    }
    values |= {name: getattr(own, name) for name in LOCAL}
    return CrawlOptions(**values)
