"""The messages of the steps and their answers, where they are more than plain lists.

Bytes that are not text are arguments of their own: the server's msgpack knows only text.
"""

import struct
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import asdict

from gossamer.model import Candidate, HostKey, Url
from gossamer.stores.claim import Claim, KeptPage
from gossamer.stores.contract import Link, Settlement, Task
from gossamer.stores.figures import HostView, WorkerReport, WorkerView
from gossamer.stores.listing import Listing
from gossamer.stores.redis.records import (
    PackedListing,
    name_of,
    packed_listing,
    parts_of,
    unpacked_listing,
)
from gossamer.stores.rules import REPEATED

_OWN = struct.Struct(">5sH")
PAGE_NOTE = 1
"""The version of the notes of pages."""


class LinksMessage(msgspec.Struct, frozen=True):
    """Links as a step takes them, without their keys."""

    hosts: list[tuple[str, str]] = []
    """The hosts of the links that go as URLs, each with its domain."""
    links: list[int] = []
    """The id of a link about which nothing is new; 0: it goes as a URL."""
    urls: list[Url] = []
    host_indexes: list[int] = []
    """For each of these URLs the place of its host in `hosts`, counted from 1."""
    scores: list[float] = []
    """The places of those URLs that have a score, counted from 1, each followed by its score."""
    listings: dict[int, PackedListing] = {}
    """What sitemaps say of some of those URLs, by their places."""


class SettleAnswer(msgspec.Struct, frozen=True):
    """What became of a settlement."""

    accepted: bool
    new: list[int] = []
    """The new links, counted from 1."""
    nearer: list[tuple[int, int]] = []
    learnt: list[int] = []
    """For each link that came as a URL its id, and how far it is (`known_link_cache.place_of`)."""
    finished: list[float] = []
    """When each of them was done (0: it is not); empty if that is not important."""
    unread: tuple[int, ...] = ()
    """Nothing was recorded: see `Settled.unread`."""
    repeats: int | None = None


class SliceAnswer(msgspec.Struct, frozen=True):
    """What became of a slice of the links of a page; the lists as those of a settlement."""

    lease: int
    """Under which the page was settled; 0: no slice is left."""
    place: int = 0
    """Which slice it is, counted from 1."""
    new: list[int] = []
    nearer: list[tuple[int, int]] = []
    learnt: list[int] = []
    finished: list[float] = []


class SnapshotAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of a crawl, and which numbers of pages are free (`gaps`)."""

    waiting: int
    in_progress: int
    pages: int
    visits: int
    bytes: int
    received: int
    listed: int
    over_host_urls: int
    hosts: int
    ended_by: str | None = None
    resting_s: float = 0.0
    outcomes: list[tuple[str, int]]
    last_page: int
    gaps: list[int]
    quarantined: int
    relaxing: bool


class PageNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a page beside its content, its URL and when it was fetched."""

    version: int = PAGE_NOTE
    size: int
    digest: bytes
    content_type: str
    encoding: str
    title: str


class CandidateRow(msgspec.Struct, frozen=True, array_like=True):
    """A URL that waits for its score."""

    id: int
    url: Url
    host: HostKey
    domain: str
    depth: int
    credit: float
    listing: PackedListing | bool
    score: float | None = None
    """That came with the link to it."""

    def candidate(self, top_credit: float) -> Candidate:
        """Return it for the prioritiser."""
        about = (self.id, self.url, self.host, self.domain, self.depth, self.credit)
        said = Listing() if isinstance(self.listing, bool) else unpacked_listing(self.listing)
        return Candidate(*about, top_credit, self.score, said.lastmod, said.priority)


read_claim = msgspec.msgpack.Decoder(Claim).decode
read_settled = msgspec.msgpack.Decoder(SettleAnswer).decode
read_slice = msgspec.msgpack.Decoder(SliceAnswer).decode
read_snapshot = msgspec.msgpack.Decoder(SnapshotAnswer).decode
read_candidates = msgspec.msgpack.Decoder(tuple[float, list[CandidateRow]], strict=False).decode
read_leased = msgspec.msgpack.Decoder(tuple[list[Task], float | bool]).decode
read_hosts = msgspec.msgpack.Decoder(list[HostView]).decode
read_report = msgspec.msgpack.Decoder(WorkerReport).decode
read_number = msgspec.msgpack.Decoder(int).decode
read_numbers = msgspec.msgpack.Decoder(list[int]).decode
read_pair = msgspec.msgpack.Decoder(tuple[int, int]).decode
read_pairs = msgspec.msgpack.Decoder(list[tuple[int, int]]).decode
read_truth = msgspec.msgpack.Decoder(bool).decode
read_moment = msgspec.msgpack.Decoder(float | bool).decode
_read_workers = msgspec.msgpack.Decoder(list[WorkerView] | dict[str, int]).decode
pack = msgspec.msgpack.Encoder().encode


def read_workers(answer: bytes) -> list[WorkerView]:
    """Return the workers; the server packs an empty list as a mapping."""
    found: list[WorkerView] | dict[str, int] = _read_workers(answer)
    return found if isinstance(found, list) else []


def bundle(links: Sequence[Link], known: Mapping[bytes, int]) -> tuple[LinksMessage, list[bytes]]:
    """Return links for a step, and the keys of those that go as URLs.

    Those about which nothing is new go as their ids.
    """
    packed, keys, hosts = LinksMessage(), list[bytes](), dict[str, int]()
    for link in links:
        found = known.get(link.key)
        if found is not None:
            packed.links.append(found)
            continue
        index = hosts.setdefault(link.host, len(hosts) + 1)
        if index > len(packed.hosts):
            packed.hosts.append((link.host, link.domain))
        packed.links.append(0)
        packed.urls.append(link.url)
        packed.host_indexes.append(index)
        keys.append(link.key)
        if link.score is not None:
            packed.scores.extend((len(keys), link.score))
        if link.listing is not None:
            packed.listings[len(keys)] = packed_listing(link.listing)
    return packed, keys


def settle_message(settlement: Settlement, links: LinksMessage) -> bytes:
    """Return a settlement as the step takes it, without the note and content of its page.

    What is nothing, as much of it is for most pages, is left out (`lua/steps/settle.lua`).
    """
    task, page = settlement.task, settlement.page
    counted = Counter(link.domain for link in settlement.links)
    told = {
        "url_id": task.url_id,
        "lease": task.lease,
        "depth": task.depth,
        "hops": task.hops,
        "outcome": settlement.outcome,
        "cause": settlement.cause.name if settlement.cause else "",
        "detail": settlement.detail,
        "status": settlement.status,
        "size": settlement.size,
        "received": settlement.received,
        "retry": settlement.retry,
        "duplicate": settlement.outcome in REPEATED,
        "redirect": settlement.redirect,
        "again": settlement.again,
        "similarity": parts_of(settlement.similarity),
        "own_similarity": parts_of(settlement.own_similarity),
        "feedback": settlement.feedback,
        "page_id": page.page_id if page else None,
        "fetched_at": page.fetched_at if page else 0.0,
        **asdict(links),
        # the domains of all links, each followed by how many there are
        "domains": [part for pair in counted.items() for part in pair],
    }
    return pack({name: one for name, one in told.items() if one})


def own_samples(own: Mapping[int, bytes]) -> bytes:
    """Return the samples of own contents, each behind the name of its page and its length."""
    return b"".join(_OWN.pack(name_of(page), len(one)) + one for page, one in own.items())


def page_note(page: KeptPage) -> bytes:
    """Return the note of a page, packed."""
    return pack(msgspec.convert(page, PageNote, from_attributes=True))
