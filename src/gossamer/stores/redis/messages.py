"""The messages of the steps and their answers, where they are more than plain lists.

Bytes that are not text are arguments of their own: the server's msgpack knows only text.
"""

from collections.abc import Mapping, Sequence

import msgspec

from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.contract import Claim, HostFeedback, HostView, KeptPage, Link, Settlement, Task
from gossamer.stores.rules import REPEATED

PAGE_NOTE = 1
"""The version of the notes of pages."""


class SettleMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A settlement, without the keys of its links and without the note and content of its page."""

    url_id: int
    lease: int
    depth: int
    hops: int
    outcome: Outcome
    cause: str
    detail: str
    status: int | None
    size: int
    retry: bool
    duplicate: bool
    redirect: bool
    feedback: HostFeedback | None
    page_id: int | None
    fetched_at: float
    hosts: list[tuple[str, str]]
    """The hosts of the links, each with its domain."""
    links: list[int | Url]
    """The id of a link about which nothing is new, else its URL."""
    host_indexes: list[int]
    """For each of these URLs the place of its host in `hosts`, counted from 1."""
    domains: list[str | int]
    """The domains of all links, each followed by how many there are."""


class SeedsMessage(msgspec.Struct, frozen=True):
    """Seeds, without their keys."""

    hosts: list[tuple[str, str]]
    links: list[int | Url]
    host_indexes: list[int]


class ClaimAnswer(msgspec.Struct, frozen=True):
    """What became of a claim; the server's msgpack leaves out what is nil."""

    page_id: int | None = None
    duplicate_of: int | None = None
    similarity: float | None = None
    lost: bool = False


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
TaskRow = tuple[int, int, Url, HostKey, int, int, int, bool]
HostRow = tuple[str, int, int, int, int, float, float]

_read_claim = msgspec.msgpack.Decoder(ClaimAnswer).decode
read_settled = msgspec.msgpack.Decoder(SettleAnswer).decode
read_snapshot = msgspec.msgpack.Decoder(SnapshotAnswer).decode
read_candidates = msgspec.msgpack.Decoder(tuple[float, list[CandidateRow]], strict=False).decode
read_leased = msgspec.msgpack.Decoder(tuple[list[TaskRow], float | bool]).decode
read_hosts = msgspec.msgpack.Decoder(list[HostRow]).decode
read_number = msgspec.msgpack.Decoder(int).decode
read_numbers = msgspec.msgpack.Decoder(list[int]).decode
read_pairs = msgspec.msgpack.Decoder(list[tuple[int, int]]).decode
read_truth = msgspec.msgpack.Decoder(bool).decode
read_moment = msgspec.msgpack.Decoder(float | bool).decode
pack = msgspec.msgpack.Encoder().encode


def read_claim(answer: bytes) -> Claim:
    """Return what became of a claim."""
    found = _read_claim(answer)
    return Claim(found.page_id, found.duplicate_of, found.similarity, found.lost)


def read_note(answer: bytes) -> bytes | None:
    """Return a note, which stands behind one byte; without that there is none."""
    return answer[1:] if answer else None


def task_of(row: TaskRow) -> Task:
    """Return a task as the server describes it."""
    url_id, lease, url, host, depth, attempt, hops, hopeless = row
    return Task(
        url_id=url_id,
        lease=lease,
        url=url,
        host=host,
        depth=depth,
        attempt=attempt,
        hops=hops,
        hopeless=hopeless,
    )


class Bundle(msgspec.Struct):
    """Links as a step takes them."""

    hosts: list[tuple[str, str]] = []
    links: list[int | Url] = []
    host_indexes: list[int] = []
    keys: list[bytes] = []
    """The keys of those that go as URLs."""


def bundle(links: Sequence[Link], known: Mapping[bytes, int]) -> Bundle:
    """Return links for a step; those about which nothing is new go as their ids."""
    packed, hosts = Bundle(), dict[str, int]()
    for link in links:
        found = known.get(link.key)
        if found is not None:
            packed.links.append(found)
            continue
        index = hosts.get(link.host)
        if index is None:
            packed.hosts.append((link.host, link.domain))
            index = hosts[link.host] = len(packed.hosts)
        packed.links.append(link.url)
        packed.host_indexes.append(index)
        packed.keys.append(link.key)
    return packed


def domains_of(links: Sequence[Link]) -> list[str | int]:
    """Return the domains of links, each followed by how many there are."""
    counted: dict[str, int] = {}
    for link in links:
        counted[link.domain] = counted.get(link.domain, 0) + 1
    return [part for pair in counted.items() for part in pair]


def settle_message(settlement: Settlement, links: Bundle) -> SettleMessage:
    """Return a settlement as the step takes it."""
    task, page = settlement.task, settlement.page
    return SettleMessage(
        url_id=task.url_id,
        lease=task.lease,
        depth=task.depth,
        hops=task.hops,
        outcome=settlement.outcome,
        cause=settlement.cause.name if settlement.cause else "",
        detail=settlement.detail,
        status=settlement.status,
        size=settlement.size,
        retry=settlement.retry,
        duplicate=settlement.outcome in REPEATED,
        redirect=settlement.redirect,
        feedback=settlement.feedback,
        page_id=page.page_id if page else None,
        fetched_at=page.fetched_at if page else 0.0,
        hosts=links.hosts,
        links=links.links,
        host_indexes=links.host_indexes,
        domains=domains_of(settlement.links),
    )


def page_note(page: KeptPage) -> bytes:
    """Return the note of a page, packed."""
    return pack(
        PageNote(
            size=page.size,
            digest=page.digest,
            content_type=page.content_type,
            encoding=page.encoding,
            title=page.title,
        )
    )


def host_view(row: HostRow) -> HostView:
    """Return a host as the server describes it."""
    host, waiting, in_progress, pages, failures, next_in_s, mean_ms = row
    return HostView(
        host=host,
        waiting=waiting,
        in_progress=in_progress,
        pages=pages,
        failures=failures,
        next_in_s=next_in_s,
        mean_ms=mean_ms,
    )
