"""The packed records of URLs, hosts and pages, read and written in Python.

What is written here is read by `lua/urls.lua` and `lua/hosts.lua`, and the other way round.
"""

import math
import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec
from msgspec.structs import astuple

from gossamer.stores.keeping import SHARE_DIGITS
from gossamer.stores.listing import Listing
from gossamer.stores.url_record import UrlState

RECORD_VERSION = 2
"""The version of the records of URLs."""
SCORED, REDIRECT, GIVEN_SCORE, LISTED = 1, 2, 4, 8
"""The flags of a URL."""
MOST_HOPS = MOST_DEATHS = 255
LAST_STATE = max(UrlState)
PARTS = 10**SHARE_DIGITS
"""A similarity is stored in this many parts."""

RECORD = struct.Struct(">BBBIdI5sHBBd5s5sHHd3s")
PAGE = struct.Struct(">d5s")
"""How a record of a page begins: when it was fetched, and its URL."""
RESULT = struct.Struct(">5s5sd")
"""How a result begins: its URL, its page and when it was settled; its records follow."""
FOUND = struct.Struct(">5sIB")
"""What is kept under the key of a URL: its id, and its depth and hops when it was found."""
MOST_LINKS = 2**17
"""More than any page has."""
_ARRAY_16 = b"\xdc"
"""How msgpack begins an array whose length is given in two bytes."""

PackedAttempt = tuple[float, str, str, str, int | bool]
"""Moment, outcome, cause, detail, status; false where there was none."""

PackedListing = tuple[float | bool, float | bool, str | bool]
"""Lastmod, priority, and of what it is a sitemap; false where there is none."""

_read_listing = msgspec.msgpack.Decoder(PackedListing).decode
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
    similarity: int
    """To the page that it repeats, in parts of `PARTS`; 0: it is not similar to one."""
    own_similarity: int
    found: float
    url: str
    attempts: Sequence[PackedAttempt]


def read_url(packed: bytes) -> UrlRow:
    """Return the record of a URL; raise one of `UNREADABLE` for anything else."""
    fields = RECORD.unpack_from(packed)
    version, *path, parent, tried, deaths = fields[:9]
    flags, score, page, duplicate_of, *likeness, found, size = fields[9:]
    if version != RECORD_VERSION or path[0] > LAST_STATE:
        raise ValueError(f"a record of version {version}, of a URL in state {path[0]}")
    end = RECORD.size + int.from_bytes(size)
    url = packed[RECORD.size : end].decode("ascii")
    attempts = _read_attempts(_ARRAY_16 + tried.to_bytes(2) + packed[end:]) if tried else ()
    pages = (int.from_bytes(page), int.from_bytes(duplicate_of))
    ends = (score, *pages, *likeness, found)
    rest = (int.from_bytes(parent), deaths, flags, *ends, url, attempts)
    return UrlRow._make((*path, *rest))


def write_url(row: UrlRow) -> bytes:
    """Return the packed record of a URL."""
    url, hops = row.url.encode("ascii"), min(row.hops, MOST_HOPS)
    path = (row.state, hops, row.depth, row.finished, row.host, name_of(row.parent))
    repeats = (name_of(row.duplicate_of), row.similarity, row.own_similarity)
    ends = (row.score, name_of(row.page), *repeats, row.found)
    tried, size = len(row.attempts), len(url).to_bytes(3)
    head = RECORD.pack(
        RECORD_VERSION, *path, tried, min(row.deaths, MOST_DEATHS), row.flags, *ends, size
    )
    return head + url + b"".join(map(_encode, row.attempts))


def parts_of(share: float | None) -> int:
    """Return a similarity as it is stored; 0 stands for none."""
    return 0 if share is None else round(share * PARTS)


def share_of(parts: int) -> float | None:
    """Return a similarity that was stored."""
    return parts / PARTS if parts else None


def read_targets(packed: bytes) -> list[int]:
    """Return the ids that the links of a URL lead to."""
    return list(accumulate(_read_steps(packed)))


def write_targets(ids: Sequence[int]) -> bytes:
    """Return the ids that the links of a URL lead to, packed as steps from id to id."""
    return _encode([after - before for before, after in pairwise([0, *ids])])


def packed_listing(listing: Listing) -> PackedListing:
    """Return what a sitemap says of a URL, as the server takes it."""
    lastmod, priority, sitemap_of = astuple(listing)
    return (
        False if lastmod is None else lastmod,
        False if priority is None else priority,
        False if sitemap_of is None else sitemap_of,
    )


def unpacked_listing(packed: PackedListing) -> Listing:
    """Return what a sitemap says of a URL, as the server gives it."""
    return Listing(*(None if one is False else one for one in packed))  # type: ignore[arg-type]


def read_listing(packed: bytes) -> Listing:
    """Return what a sitemap says of a URL."""
    return unpacked_listing(_read_listing(packed))


def name_of(url_id: int) -> bytes:
    """Return how a URL is named in the queues, and a page in the bands."""
    return url_id.to_bytes(5, "big")


def read_found(packed: bytes) -> int:
    """Return the id of a URL from what is kept under its key; raise one of `UNREADABLE`."""
    return int.from_bytes(FOUND.unpack(packed)[0])


def links_done(place: float) -> int:
    """Return how many links of a URL are done, from its place among those still to be followed."""
    return round(place % 1 * MOST_LINKS)


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
    delay: float = 0.0
    """The pause that fits how it has answered; 0: not known."""
    received: int = 0
    """How many bytes of bodies were received from it."""


read_host = msgspec.msgpack.Decoder(HostRow).decode


def write_host(host: HostRow) -> bytes:
    """Return the packed record of a host."""
    return _encode(host)


class ResultRow(NamedTuple):
    """A result of the log, without its number."""

    url_id: int
    page_id: int
    """0: none was kept."""
    settled_at: float
    records: bytes
    """Packed."""


def read_result(packed: bytes) -> ResultRow:
    """Return a result of the log."""
    url_id, page_id, settled_at = RESULT.unpack_from(packed)
    numbers = (int.from_bytes(url_id), int.from_bytes(page_id))
    return ResultRow(*numbers, settled_at, packed[RESULT.size :])
