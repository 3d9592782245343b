"""The names of the keys in which Redis has the rows of a crawl.

All of them carry the hash tag `{crawl}`, so that they lie on one node of a cluster, and begin like
every key of a crawl, so that whoever deletes it finds them. Numbers in names and in fields are
decimal; members of sorted sets are 8 bytes, so that equal scores are in the order of numbers.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.rows import Changes

REGISTRY: Final = "gossamer:crawls"
"""A set: the names of the crawls that this Redis holds."""


def prefix(crawl: str) -> str:
    """Return how every key of a crawl begins, in whatever format."""
    return f"gossamer:{{{crawl}}}:"


class RowKeys:
    """The keys of one crawl, each named after its attribute."""

    # who writes
    format: bytes  # string: the number of the format
    lead: bytes  # string that runs out: who writes (lead.py)
    commit: bytes  # string: how many commits there were, and the token of the last writer
    wanted: bytes  # string that runs out: a coordinator wants the lead
    standby: bytes  # hash: token -> who stands by, and when it last said so
    numbers: bytes  # hash: how far the numbers of rows go (`row_changes.RowNumbers`)
    lost_bodies: bytes  # set that runs out: references to bodies that were gone before a commit
    # who copies (views/redis_copy.py)
    watched: bytes  # string that runs out: commits write a journal
    journal: bytes  # list that runs out: what they have changed, an entry a commit
    hold: bytes  # string that soon runs out: commits wait
    # the crawl
    metadata: bytes  # hash: name -> value
    hosts: bytes  # hash: id -> HostRow
    host_ids: bytes  # hash: key of a host -> its id
    host_urls: bytes  # hash: id of a host -> how many of its URLs are known
    domains: bytes  # hash: name -> DomainRow
    leases: bytes  # hash: URL -> LeaseRow
    # URLs
    urls: bytes  # hash: id -> UrlRow
    known: bytes  # hash: key of a URL, 16 bytes -> its id
    unscored: bytes  # string of bits: which ids wait for their score
    links: bytes  # hash: id -> its links
    linked: bytes  # string of bits: which ids have links
    url_blocks: bytes  # hash: number -> what memory has of 64 URLs (`stores.columns`)
    attempts: bytes  # hash: <id>:<number from 0> -> Attempt
    relaxing: bytes  # hash: id -> RelaxingUrl
    # pages
    pages: bytes  # hash: number -> PageRow
    page_blocks: bytes  # hash: number -> what memory has of 64 pages
    contents: bytes  # hash: number -> its packed content, or a reference
    body_names: bytes  # hash: number -> the name of the body, if its content refers to one
    kept: bytes  # sorted set: pages that have such, by when they were fetched
    bands: bytes  # hash: number -> when it was fetched (8 bytes), and the bands of its sketch
    samples: bytes  # hash: number -> the rest of its sketch
    results: bytes  # hash: number -> ResultRow without its row
    result_rows: bytes  # hash: number -> the row
    row_ages: bytes  # sorted set: results that have a row, by when they were settled

    def __init__(self, crawl: str) -> None:
        self.crawl = crawl
        self.prefix = f"{prefix(crawl)}rows:".encode()
        """How each of them begins."""
        self.everything = prefix(crawl).encode()
        """How every key of the crawl begins, of this format or another."""
        self.rules = f"{prefix(crawl)}rules".encode()
        """A key that a crawl has whose rules the server carries out: it is in another format."""
        for name, ending in NAMES.items():
            setattr(self, name, self.prefix + ending.encode())

    def describe(self, address: RedisAddress) -> str:
        """Return what the crawl is called among people."""
        return f"the crawl {self.crawl} in {address}"

    def queued(self, host: int, queue: int) -> bytes:
        """Return the sorted set of a priority queue of a host: its URLs by their scores."""
        return b"%bqueued:%d:%d" % (self.prefix, host, queue)

    def url_keys(self, part: int) -> bytes:
        """Return the string of the keys of so many URLs, each at the place of its id."""
        return b"%burl-keys:%d" % (self.prefix, part)

    def page_digests(self, part: int) -> bytes:
        """Return the string of the digests of so many pages, each at the place of its number."""
        return b"%bpage-digests:%d" % (self.prefix, part)

    def body(self, name: str) -> bytes:
        """Return the string that is a body; it runs out as long as no page refers to it."""
        return self.prefix + b"body:" + name.encode()

    def messages(self, name: str) -> bytes:
        """Return the list of the messages in a queue between processes."""
        return self.prefix + b"messages:" + name.encode()


HASH_BYTES: Final = 16
"""The size of keys of URLs and of digests of pages."""
PART: Final = 1_048_576
"""How many of them are in one string."""
NAMES: Final = {name: name.replace("_", "-") for name in RowKeys.__annotations__}
"""The attributes of the keys of which a crawl has one each, and how those end."""

member: Final[Callable[[int], bytes]] = struct.Struct(">Q").pack
"""Returns a number as a member of a sorted set."""


def number_of(packed: bytes) -> int:
    """Return the number that a member of a sorted set is."""
    return int.from_bytes(packed, "big")


UNSETTLED_S: Final = 3_600
"""How long a body lasts that no commit has kept: longer than a settlement waits for a server that
is away (a minute) or for another frontier, and no burden if nobody refers to it. If a settlement
waits for longer all the same, because nobody leads the crawl, its page is fetched again."""
WATCHED_S: Final = 60
"""How long changes are noted after the last word of who copies."""
HOLD_S: Final = 2.0
"""How long commits wait at most."""


class ChangedRows(msgspec.Struct, array_like=True):
    """The rows that were changed: their ids, numbers and names."""

    commit: int = 0
    """The number of the commit."""
    urls: Sequence[int] = ()
    """Those whose row, links, lease or place in `relaxing` has changed."""
    hosts: Sequence[int] = ()
    pages: Sequence[int] = ()
    domains: Sequence[str] = ()


def pack_entry(commit: int, changes: Changes) -> bytes:
    """Return the entry of a commit: what its changes are about."""
    urls = changes.urls, changes.url_changes, changes.links, changes.leases, changes.relaxing
    pages = changes.pages, changes.reported, changes.contents, changes.sketches, changes.dropped
    changed = ChangedRows(
        commit=commit,
        urls=[*set[int]().union(*urls)],
        hosts=[*changes.hosts.keys() | changes.host_urls.keys()],
        pages=[*set[int]().union(*pages)],
        domains=[*changes.domains],
    )
    return msgspec.msgpack.encode(changed)


def read_entry(packed: bytes) -> ChangedRows:
    """Return an entry as it was packed."""
    return msgspec.msgpack.decode(packed, type=ChangedRows)


def merge(entries: Sequence[ChangedRows]) -> ChangedRows:
    """Return what was changed in any of them."""
    return ChangedRows(
        urls=sorted({url for entry in entries for url in entry.urls}),
        hosts=sorted({host for entry in entries for host in entry.hosts}),
        pages=sorted({page for entry in entries for page in entry.pages}),
        domains=sorted({domain for entry in entries for domain in entry.domains}),
    )
