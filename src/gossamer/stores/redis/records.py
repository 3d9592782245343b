"""The packed records of URLs, hosts and pages, read and written in Python.

What is written here is read by `lua/urls.lua` and `lua/hosts.lua`, and the other way round.
"""

import math
import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

from gossamer.stores.contract import UrlState

RECORD_VERSION = 1
"""The version of the records of URLs."""
SCORED, REDIRECT = 1, 2
"""The flags of a URL."""
MOST_HOPS = MOST_DEATHS = 255
LAST_STATE = max(UrlState)

NOBODY = bytes(5)
"""The name in place of the URL that claims a content or a sample, once its page is kept."""

RECORD = struct.Struct(">BBBIdI5sHBBd5s5sd3s")
PAGE = struct.Struct(">d5s")
"""How a record of a page begins: when it was fetched, and its URL."""
_ARRAY_16 = b"\xdc"
"""How msgpack begins an array whose length is given in two bytes."""

PackedAttempt = tuple[float, str, str, str, int | bool]
"""Moment, outcome, cause, detail, status; false where there was none."""

_read_attempts = msgspec.msgpack.Decoder(list[PackedAttempt]).decode
_read_steps = msgspec.msgpack.Decoder(list[int]).decode
_encode = msgspec.msgpack.Encoder().encode

UNREADABLE = (ValueError, struct.error, msgspec.MsgspecError)
"""What reading something that is not our record raises."""


class UrlRow(NamedTuple):
    """A record of a URL; 0 stands for no parent, page or duplicate, infinity for not done."""

    state: int
    hops: int
    depth: int
    finished: float
    host: int
    parent: int
    deaths: int
    flags: int
    score: float
    page: int
    duplicate_of: int
    found: float
    url: str
    attempts: Sequence[PackedAttempt]


def read_url(packed: bytes) -> UrlRow:
    """Return the record of a URL; raise one of `UNREADABLE` for anything else."""
    fields = RECORD.unpack_from(packed)
    version, *path, parent, tried, deaths = fields[:9]
    flags, score, page, duplicate_of, found, size = fields[9:]
    if version != RECORD_VERSION or path[0] > LAST_STATE:
        raise ValueError(f"a record of version {version}, of a URL in state {path[0]}")
    end = RECORD.size + int.from_bytes(size)
    url = packed[RECORD.size : end].decode("ascii")
    attempts = _read_attempts(_ARRAY_16 + tried.to_bytes(2) + packed[end:]) if tried else ()
    pages = (int.from_bytes(page), int.from_bytes(duplicate_of))
    rest = (int.from_bytes(parent), deaths, flags, score, *pages, found, url, attempts)
    return UrlRow._make((*path, *rest))


def write_url(row: UrlRow) -> bytes:
    """Return the packed record of a URL."""
    url, hops = row.url.encode("ascii"), min(row.hops, MOST_HOPS)
    path = (row.state, hops, row.depth, row.finished, row.host, name_of(row.parent))
    ends = (row.score, name_of(row.page), name_of(row.duplicate_of), row.found)
    tried, size = len(row.attempts), len(url).to_bytes(3)
    head = RECORD.pack(
        RECORD_VERSION, *path, tried, min(row.deaths, MOST_DEATHS), row.flags, *ends, size
    )
    return head + url + b"".join(map(_encode, row.attempts))


def read_targets(packed: bytes) -> list[int]:
    """Return the ids that the links of a URL lead to."""
    return list(accumulate(_read_steps(packed)))


def write_targets(ids: Sequence[int]) -> bytes:
    """Return the ids that the links of a URL lead to, packed as steps from id to id."""
    return _encode([after - before for before, after in pairwise([0, *ids])])


def name_of(url_id: int) -> bytes:
    """Return how a URL is named in the queues, and a page in the bands."""
    return url_id.to_bytes(5, "big")


class HostRow(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A record of a host; `lua/hosts.lua` has the fields in the same order."""

    name: str
    domain: str
    next: float
    failures: int
    unanswered: int
    failed_at: float = -math.inf
    crawl_delay: float = 0.0
    promised: float = -math.inf
    taskless_last: bool = False
    in_progress: int = 0
    waiting: int = 0
    assigned: int = 0
    aside: bool = False
    rank: int = 0
    requests: int = 0
    failed: int = 0
    pages: int = 0
    took: float = 0.0
    queues: int = 0
    """Into how many queues its waiting URLs are counted; 0: they are to be counted again."""
    stock: list[int] | dict[str, int] = []
    """For each queue that has any: its number, how many wait, and whether the host is in its ring.
    The server packs an empty list as a mapping."""
    shared: bool = False
    """Whether its assigned URLs are assigned to all workers together."""


read_host = msgspec.msgpack.Decoder(HostRow).decode


def write_host(host: HostRow) -> bytes:
    """Return the packed record of a host."""
    return _encode(host)


def write_page(fetched_at: float, url_id: int, note: bytes) -> bytes:
    """Return the packed record of a page."""
    return PAGE.pack(fetched_at, name_of(url_id)) + note
