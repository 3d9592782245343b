"""The messages of the steps and their answers, where they are more than plain lists.

Bytes that are not text are arguments of their own: the server's msgpack knows only text.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import asdict

from gossamer.model import HostKey, Url
from gossamer.stores.contract import (
    Claim,
    HostView,
    KeptPage,
    Link,
    Settlement,
    Task,
    WorkerReport,
    WorkerView,
)
from gossamer.stores.rules import REPEATED

PAGE_NOTE = 1
"""The version of the notes of pages."""


class LinksMessage(msgspec.Struct, frozen=True):
    """Links as a step takes them, without their keys."""

    hosts: list[tuple[str, str]] = []
    """The hosts of the links that go as URLs, each with its domain."""
    links: list[int | Url] = []
    """The id of a link about which nothing is new, else its URL."""
    host_indexes: list[int] = []
    """For each of these URLs the place of its host in `hosts`, counted from 1."""


class SettleAnswer(msgspec.Struct, frozen=True):
    """What became of a settlement."""

    accepted: bool
    new: list[int] = []
    """The new links, counted from 1."""
    nearer: list[tuple[int, int]] = []
    learnt: list[float] = []
    """For each link that came as a URL its id, and when it was done (0: it is not)."""
    depth: int = 0
    hops: int = 0


class SnapshotAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The counters of a crawl, and which numbers of pages are free (`gaps`)."""

    waiting: int
    in_progress: int
    pages: int
    bytes: int
    hosts: int
    ended_by: str | None = None
    outcomes: list[tuple[str, int]]
    last_page: int
    gaps: list[int]
    quarantined: int


class PageNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a page beside its content, its URL and when it was fetched."""

    version: int = PAGE_NOTE
    size: int
    digest: bytes
    content_type: str
    encoding: str
    title: str


CandidateRow = tuple[int, Url, HostKey, str, int, float]

read_claim = msgspec.msgpack.Decoder(Claim).decode
read_settled = msgspec.msgpack.Decoder(SettleAnswer).decode
read_snapshot = msgspec.msgpack.Decoder(SnapshotAnswer).decode
read_candidates = msgspec.msgpack.Decoder(tuple[float, list[CandidateRow]], strict=False).decode
read_leased = msgspec.msgpack.Decoder(tuple[list[Task], float | bool]).decode
read_hosts = msgspec.msgpack.Decoder(list[HostView]).decode
read_report = msgspec.msgpack.Decoder(WorkerReport).decode
read_number = msgspec.msgpack.Decoder(int).decode
read_numbers = msgspec.msgpack.Decoder(list[int]).decode
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
        packed.links.append(link.url)
        packed.host_indexes.append(index)
        keys.append(link.key)
    return packed, keys


def settle_message(settlement: Settlement, links: LinksMessage) -> bytes:
    """Return a settlement as the step takes it, without the note and content of its page."""
    task, page = settlement.task, settlement.page
    counted = Counter(link.domain for link in settlement.links)
    return pack(
        {
            "url_id": task.url_id,
            "lease": task.lease,
            "depth": task.depth,
            "hops": task.hops,
            "outcome": settlement.outcome,
            "cause": settlement.cause.name if settlement.cause else "",
            "detail": settlement.detail,
            "status": settlement.status,
            "size": settlement.size,
            "retry": settlement.retry,
            "duplicate": settlement.outcome in REPEATED,
            "redirect": settlement.redirect,
            "feedback": settlement.feedback,
            "page_id": page.page_id if page else None,
            "fetched_at": page.fetched_at if page else 0.0,
            **asdict(links),
            # the domains of all links, each followed by how many there are
            "domains": [part for pair in counted.items() for part in pair],
        }
    )


def page_note(page: KeptPage) -> bytes:
    """Return the note of a page, packed."""
    return pack(msgspec.convert(page, PageNote, from_attributes=True))
