"""The names of the keys in which Redis has the rows of a crawl.

All of them carry the hash tag `{crawl}`, so that they lie on one node of a cluster, and begin like
every key of a crawl, so that whoever deletes it finds them. RowNumbers in names and in fields are
decimal; members of sorted sets are 8 bytes, so that equal scores are in the order of numbers.
"""

import struct
from typing import Final

REGISTRY: Final = "gossamer:crawls"
"""A set: the names of the crawls that this Redis holds."""
NAMES: Final = {
    # who writes
    "format": "format",  # string: the number of the format
    "lead": "lead",  # string that runs out: who writes (lead.py)
    "commit": "commit",  # string: how many commits there were, and the token of the last writer
    "wanted": "wanted",  # string that runs out: a coordinator wants the lead
    "standby": "standby",  # hash: token -> who stands by, and when it last said so
    "numbers": "numbers",  # hash: how far the numbers of rows go (`row_changes.RowNumbers`)
    # who copies (journal.py)
    "watched": "watched",  # string that runs out: commits note what they change
    "journal": "journal",  # list that runs out: what they have changed, an entry a commit
    "hold": "hold",  # string that soon runs out: commits wait
    # the crawl
    "metadata": "metadata",  # hash: name -> value
    "hosts": "hosts",  # hash: id -> HostRow
    "host_ids": "host-ids",  # hash: key of a host -> its id
    "host_urls": "host-urls",  # hash: id of a host -> how many of its URLs are known
    "domains": "domains",  # hash: name -> DomainRow
    "leases": "leases",  # hash: URL -> LeaseRow
    # URLs
    "urls": "urls",  # hash: id -> UrlRow
    "known": "known",  # hash: key of a URL, 16 bytes -> its id
    "unscored": "unscored",  # string of bits: which ids wait for their score
    "links": "links",  # hash: id -> its links
    "linked": "linked",  # string of bits: which ids have links
    "attempts": "attempts",  # hash: <id>:<number from 0> -> Attempt
    "relaxing": "relaxing",  # hash: id -> RelaxingUrl
    # pages
    "pages": "pages",  # hash: number -> PageRow
    "contents": "contents",  # hash: number -> its packed content
    "kept": "kept",  # sorted set: pages that have such, by when they were fetched
    "bands": "bands",  # hash: number -> when it was fetched (8 bytes), and the bands of its sketch
    "samples": "samples",  # hash: number -> the rest of its sketch
    "results": "results",  # hash: number -> ResultRow without its row
    "result_rows": "result-rows",  # hash: number -> the row
    "row_ages": "row-ages",  # sorted set: results that have a row, by when they were settled
}


def prefix(crawl: str) -> str:
    """Return how every key of a crawl begins, in whatever format."""
    return f"gossamer:{{{crawl}}}:"


class RowKeys:
    """The keys of one crawl."""

    def __init__(self, crawl: str) -> None:
        self.prefix = f"{prefix(crawl)}rows:".encode()
        """How each of them begins."""
        self.everything = prefix(crawl).encode()
        """How every key of the crawl begins, of this format or another."""
        self.rules = f"{prefix(crawl)}rules".encode()
        """A key that a crawl has whose rules the server carries out: it is in another format."""
        for name, ending in NAMES.items():
            setattr(self, name, self.prefix + ending.encode())

    format: bytes
    lead: bytes
    commit: bytes
    wanted: bytes
    standby: bytes
    numbers: bytes
    watched: bytes
    journal: bytes
    hold: bytes
    metadata: bytes
    hosts: bytes
    host_ids: bytes
    host_urls: bytes
    domains: bytes
    leases: bytes
    urls: bytes
    known: bytes
    unscored: bytes
    links: bytes
    linked: bytes
    attempts: bytes
    relaxing: bytes
    pages: bytes
    contents: bytes
    kept: bytes
    bands: bytes
    samples: bytes
    results: bytes
    result_rows: bytes
    row_ages: bytes

    def queued(self, host: int, queue: int) -> bytes:
        """Return the sorted set of a priority queue of a host: its URLs by their scores."""
        return b"%bqueued:%d:%d" % (self.prefix, host, queue)

    def messages(self, name: str) -> bytes:
        """Return the list of the messages in a queue between processes."""
        return self.prefix + b"messages:" + name.encode()


_MEMBER: Final = struct.Struct(">Q")


def member(number: int) -> bytes:
    """Return a number as a member of a sorted set."""
    return _MEMBER.pack(number)


def number_of(packed: bytes) -> int:
    """Return the number that a member of a sorted set is."""
    return int.from_bytes(packed, "big")
