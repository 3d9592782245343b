"""The counters of a crawl in Redis, as they go with a copy of it, and as a file would note them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.stores.embedded.records import Figures
from gossamer.stores.redis.alive import AT_WORK, IN_ORDER
from gossamer.stores.redis.counters import unpack_counters
from gossamer.stores.redis.records import links_done
from gossamer.stores.rules import StoreRules

LEASES_OF_A_START = 32
"""How many bits of a lease's number count the leases of one start of an embedded store."""

_CLOSED = {AT_WORK: b"no", IN_ORDER: b"yes"}


class CopiedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with the tables: the counters at the moment of the copy."""

    running: bool
    """Whether a worker is alive, as far as one can tell: seen within the time of a lease."""
    closed: bool
    """Whether nobody works on it and nothing is in progress."""
    counts: Mapping[str, float]
    outcomes: dict[str, int]
    """How many URLs are done, by the reason (`stores/reasons.py`)."""
    depths: dict[str, int]
    """How many URLs are known, done and have a page, by depth (`depths` in `stores/redis/keys.py`).
    """
    queue_counts: dict[int, int]
    """How many URLs are queued or assigned, by priority queue."""
    pending_depth_changes: list[int]
    """Pages of which the modules know a larger depth."""
    relaxing: list[tuple[int, int]]
    """URLs that have come nearer and what they link to not yet, with how many links are done."""
    results: int
    """How long the log of results is."""
    unreadable: list[str]
    """What is wrong with records that nobody can read."""


def read_state(answer: Sequence[Any], rules: StoreRules, unreadable: list[str]) -> CopiedCrawl:
    """Return what the step that was the moment has answered (`lua/steps/catch_up.lua`)."""
    (seconds, micros), packed, outcomes, pending_depth_changes, seen, *tables = answer
    depths, queues, relaxing, results = tables
    counts = unpack_counters(packed)
    silent_since = int(seconds) + int(micros) / 1e6 - rules.scheduler.lease_s
    running = counts["closed"] == AT_WORK and bool(seen) and float(seen[1]) > silent_since
    return CopiedCrawl(
        running=running,
        closed=not running and not counts["in_progress"] and not counts["taken_slots"],
        counts=counts,
        outcomes={name.decode(): int(value) for name, value in _pairs(outcomes)},
        depths={name.decode(): int(value) for name, value in _pairs(depths)},
        queue_counts={int(queue): int(value) for queue, value in _pairs(queues)},
        pending_depth_changes=sorted(int(page) for page, _ in _pairs(pending_depth_changes)),
        relaxing=[(int(url_id), links_done(float(place))) for url_id, place in _pairs(relaxing)],
        results=int(results),
        unreadable=unreadable,
    )


def notes_of_file(
    state: CopiedCrawl, rules: StoreRules, notes: Mapping[bytes, bytes]
) -> dict[str, bytes]:
    """Return the notes that the crawl would have in a file, as an embedded store writes them."""
    counts = state.counts
    numbers = {
        **{name: int(counts[name]) for name in Figures.__struct_fields__},
        "queues": rules.scheduler.queues,
        "starts": int(counts["lease"]) >> LEASES_OF_A_START,
        "unsure_since": counts["unsure"] or "-inf",
    }
    found = {name.decode(): value for name, value in notes.items()}
    found.pop("workers", None)  # of use only to processes that share the store
    found |= {name: str(value).encode() for name, value in numbers.items()}
    if ended := int(counts["closed"]):
        found["closed"] = b"yes" if state.closed else _CLOSED[ended]
    return found


def _pairs(flat: Sequence[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
