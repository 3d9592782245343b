"""The counters of a crawl at the moment at which it was copied."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.frontier import Budget
from gossamer.stores.redis.alive import AT_WORK, IN_ORDER
from gossamer.stores.rules import StoreRules

LEASES_OF_A_START = 32
"""How many bits of a lease's number count the leases of one start of an embedded store."""

_CLOSED = {AT_WORK: b"no", IN_ORDER: b"yes"}
_LOCAL_NOTES = frozenset({b"workers"})
"""What is of use only to processes that share the store."""


class CopiedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with the tables: the counters at the moment of the copy."""

    now: float
    """The moment, by the server's clock."""
    rules: StoreRules
    counts: dict[str, float]
    outcomes: dict[str, int]
    depths: dict[str, int] = {}
    """How many URLs are known, done and have a page, by depth (`depths` in `stores/redis/keys.py`).
    """
    queue_counts: dict[int, int] = {}
    """How many URLs are queued or assigned, by priority queue."""
    pending_depth_changes: list[int]
    """Pages of which the modules know a larger depth."""
    last_seen: float | None
    """When a worker gave the last sign of life."""
    notes: dict[str, bytes] = {}
    """The notes of a crawl in a file."""
    unreadable: list[str] = []
    """What is wrong with records that nobody can read."""

    @property
    def is_running(self) -> bool:
        """Whether a worker is alive, as far as one can tell: seen within the time of a lease."""
        if self.last_seen is None or self.counts.get("closed") != AT_WORK:
            return False
        return self.last_seen + self.rules.scheduler.lease_s > self.now

    @property
    def is_closed(self) -> bool:
        """Whether nobody works on it and nothing is in progress."""
        left = self.counts.get("in_progress", 0) + self.counts.get("taken_slots", 0)
        return not self.is_running and left == 0

    @property
    def is_over(self) -> bool:
        """Whether nobody works on it, and there is nothing left to do, or no budget."""
        if not self.is_closed:
            return False
        waiting = sum(self.counts.get(name, 0) for name in ("unscored", "queued", "assigned"))
        rules = self.rules
        budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
        budget.pages = int(self.counts.get("pages", 0))
        budget.bytes = int(self.counts.get("bytes", 0))
        return not waiting or budget.exhausted_by(0) is not None


def read_state(answer: Sequence[Any], rules: StoreRules) -> CopiedCrawl:
    """Return what the step that was the moment has answered (`lua/steps/catch_up.lua`)."""
    (seconds, micros), counts, outcomes, pending_depth_changes, seen, depths, queues = answer
    return CopiedCrawl(
        now=int(seconds) + int(micros) / 1e6,
        rules=rules,
        counts={name.decode(): float(value) for name, value in _pairs(counts)},
        outcomes={name.decode(): int(value) for name, value in _pairs(outcomes)},
        depths={name.decode(): int(value) for name, value in _pairs(depths)},
        queue_counts={int(queue): int(value) for queue, value in _pairs(queues)},
        pending_depth_changes=sorted(int(page) for page, _ in _pairs(pending_depth_changes)),
        last_seen=float(seen[1]) if seen else None,
    )


def with_notes(state: CopiedCrawl, notes: Mapping[bytes, bytes]) -> CopiedCrawl:
    """Return the state with the notes that a crawl in a file would have."""
    own = {name.decode(): value for name, value in notes.items() if name not in _LOCAL_NOTES}
    return msgspec.structs.replace(state, notes=own | _notes(state))


def _notes(state: CopiedCrawl) -> dict[str, bytes]:
    """Return the notes that an embedded store goes by, as `stores/state.py` writes them."""
    counts = state.counts
    numbers = {
        "bytes": int(counts.get("bytes", 0)),
        "queues": state.rules.scheduler.queues,
        "starts": int(counts.get("lease", 0)) >> LEASES_OF_A_START,
        "unsure_since": counts.get("unsure") or "-inf",
    }
    notes = {name: str(value).encode() for name, value in numbers.items()}
    if ended := int(counts.get("closed", 0)):
        notes["closed"] = b"yes" if state.is_closed else _CLOSED[ended]
    return notes


def _pairs(flat: Sequence[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
