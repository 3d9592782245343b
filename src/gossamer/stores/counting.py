"""The counters of a crawl as they are stored: whoever wants its status reads no row of a URL.

The frontier counts while URLs move, and stores its counters with the commit that stores the moves.
So they are those of the rows, at any moment.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Self

import msgspec

from gossamer.model import Cause, CauseCount, Outcome
from gossamer.stores.rows import ReadableRows, pack_links, unpack_links
from gossamer.stores.url_record import UrlState

REASONS_NAME = "reasons"
"""Where the counts of reasons are among the metadata: nobody has to count when it is opened."""
COUNTS_NAME: Final = "counts"
"""Where the other counters are among the metadata of a crawl."""
WITHOUT_CAUSE = frozenset(
    {
        *(Outcome.REDIRECTED, Outcome.DUPLICATE, Outcome.SIMILAR),
        *(Outcome.SITEMAP, Outcome.NOT_SITEMAP),
    }
)
"""The outcomes that never have a cause."""


class Reason(NamedTuple):
    """Why a URL ended as it did: its outcome, and why the last download failed."""

    outcome: Outcome
    cause: Cause | None = None
    status: int | None = None
    """The HTTP status; None also if there is no cause."""

    @classmethod
    def of(cls, outcome: str, cause: Cause | str | None, status: int | None) -> Self:
        """Return the reason of an attempt; the cause may be given by its name."""
        if cause is None:
            return cls(outcome if isinstance(outcome, Outcome) else Outcome(outcome))
        known = Cause.__members__.get(cause or "") if not isinstance(cause, Cause) else cause
        return cls(Outcome(outcome), known, None if known is None else status)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the reason that `str` has written; ValueError for any other text."""
        outcome, *rest = text.split(":")
        cause, status = rest or ("", "")
        return cls.of(outcome, cause, int(status) if status else None)

    def __str__(self) -> str:
        """Write it as `fetched`, `timed_out:TOTAL_TIMEOUT:` or `gone:STATUS_GONE:410`."""
        if self.cause is None:
            return self.outcome
        return f"{self.outcome}:{self.cause.name}:{'' if self.status is None else self.status}"


def outcome_sums(counts: Iterable[tuple[Reason, int]]) -> dict[str, int]:
    """Return how many URLs ended with each outcome."""
    sums = Counter[str]()
    for reason, urls in counts:
        sums[str(reason.outcome)] += urls
    return {outcome: urls for outcome, urls in sums.items() if urls}


def cause_counts(counts: Iterable[tuple[Reason, int]]) -> list[CauseCount]:
    """Return why downloads failed, the most frequent cause first."""
    causes = [
        CauseCount(outcome=reason.outcome, cause=reason.cause, status=reason.status, urls=urls)
        for reason, urls in counts
        if reason.cause is not None and urls
    ]
    return sorted(
        causes, key=lambda count: (-count.urls, count.outcome, count.cause, count.status or 0)
    )


def pack_reason_counts(counts: Mapping[Reason, int]) -> bytes:
    """Return counts as they are stored."""
    texts = {str(reason): urls for reason, urls in counts.items() if urls}
    return msgspec.json.encode(dict(sorted(texts.items())))


def read_reason_counts(stored: bytes | None) -> dict[Reason, int]:
    """Return counts that were stored; none if nothing was."""
    texts = msgspec.json.decode(stored or b"{}", type=dict[str, int])
    return {Reason.parse(text): urls for text, urls in texts.items()}


class DepthCounts(NamedTuple):
    """How many URLs of one depth there are."""

    urls: int
    finished: int
    pages: int
    """Those that have a page."""


class StoredCounts(msgspec.Struct, array_like=True, kw_only=True, frozen=True):
    """The counters of a crawl."""

    states: dict[int, int] = {}
    """How many URLs there are of each state, as they are stored: assigned ones are queued."""
    depth_counts: tuple[bytes, bytes, bytes] = (b"", b"", b"")
    """By depth, 8 bytes each, the numbers of `DepthCounts`: packed, as they may be many."""
    queues: dict[int, int] = {}
    """How many URLs wait in each priority queue, over all hosts."""
    pages: int = 0
    hosts: int = 0
    relaxing: bool = False
    """Whether a shorter path is not followed to its end."""
    first_attempt_at: float | None = None
    last_attempt_at: float | None = None
    domains: int = 0
    """How many domains have a row."""

    @property
    def depths(self) -> list[DepthCounts]:
        """How many URLs of each depth there are."""
        return [*map(DepthCounts, *map(unpack_links, self.depth_counts))]


pack_counts: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(StoredCounts).decode


def unpack_counts(packed: bytes | None) -> StoredCounts:
    """Return counters that were stored; all are 0 if none were."""
    return StoredCounts() if packed is None else _decode(packed)


def count_rows(rows: ReadableRows) -> StoredCounts:
    """Count all rows, which takes long: what the counters of a crawl must be.

    The times of the attempts are those of URLs that have ended.
    """
    leased = {lease.url for lease in rows.leases()}
    states, queues = Counter[int](), Counter[int]()
    urls, finished, pages = Counter[int](), Counter[int](), Counter[int]()
    first_at, last_at = math.inf, -math.inf
    for url in rows.known_urls():
        state = int(url.state)
        if state == UrlState.QUEUED and url.id in leased:
            state = int(UrlState.LEASED)
        elif state == UrlState.QUEUED and url.queue is not None:
            queues[url.queue] += 1
        states[state] += 1
        urls[url.depth] += 1
        pages[url.depth] += url.page is not None
        if state == UrlState.DONE:
            finished[url.depth] += 1
            if url.finished_at is not None:
                first_at, last_at = min(first_at, url.finished_at), max(last_at, url.finished_at)
    depths = range(max(urls, default=-1) + 1)
    by_depth = [pack_links([of[depth] for depth in depths]) for of in (urls, finished, pages)]
    return StoredCounts(
        states=dict(states),
        depth_counts=(by_depth[0], by_depth[1], by_depth[2]),
        queues=dict(queues),
        pages=sum(1 for _ in rows.known_pages()),
        hosts=sum(1 for _ in rows.hosts()),
        relaxing=any(True for _ in rows.relaxing()),
        first_attempt_at=first_at if first_at < math.inf else None,
        last_attempt_at=last_at if first_at < math.inf else None,
        domains=sum(1 for _ in rows.domains()),
    )


def wrong_counts(rows: ReadableRows) -> Iterator[str]:
    """Yield which stored counters are not those of the rows, in words.

    If none are stored, whoever reads the crawl counts its rows.
    """
    (packed,) = rows.read_metadata([COUNTS_NAME])
    if packed is None:
        return
    try:
        stored = dict(_described(unpack_counts(packed)))
    except msgspec.MsgspecError as error:
        yield f"the counters cannot be read: {error}"
        return
    counted = dict(_described(count_rows(rows)))
    for what in dict.fromkeys([*stored, *counted]):
        if (said := stored.get(what, 0)) != (number := counted.get(what, 0)):
            yield f"{what}: the counter says {said}, and there are {number}"


def _described(counts: StoredCounts) -> Iterator[tuple[str, int]]:
    for state in UrlState:
        yield f"URLs that are {state.name.lower()}", counts.states.get(state, 0)
    for depth, of_depth in enumerate(counts.depths):
        yield f"URLs of depth {depth}", of_depth.urls
        yield f"finished URLs of depth {depth}", of_depth.finished
        yield f"URLs of depth {depth} with a page", of_depth.pages
    for queue, urls in counts.queues.items():
        yield f"URLs in queue {queue}", urls
    yield "pages", counts.pages
    yield "hosts", counts.hosts
    yield "domains", counts.domains
    yield "whether depths may decrease", int(counts.relaxing)
