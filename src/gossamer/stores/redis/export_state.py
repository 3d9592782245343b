"""How it is with a crawl, and with each part of it, at the moments at which they were copied."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gossamer.frontier import Budget
from gossamer.stores.ledger import StoreRules
from gossamer.stores.redis.renumber import LostLink

AT_WORK, IN_ORDER = 2, 1
"""How the last process was seen or has ended, as `lua/base.lua` counts."""
LEASES_OF_A_START = 32
"""How many bits of a lease's number count the leases of one start of an embedded store."""

_CLOSED = {AT_WORK: b"no", IN_ORDER: b"yes"}
_LOCAL_NOTES = frozenset({b"workers"})
"""What is of use only to processes that share the store."""
_LARGEST = frozenset({"closed", "lease", "unsure", "credit"})
"""Counters of parts of which the largest counts; of the others it is the sum."""


class PartState(msgspec.Struct, frozen=True, kw_only=True):
    """What a part has counted at its moment."""

    now: float
    """The moment, by the server's clock."""
    counts: dict[str, float]
    outcomes: dict[str, int]
    untold: list[int]
    last_seen: float | None
    sent: dict[int, int]
    """The number of the last message for each receiver."""
    received: dict[int, int]
    """The number of the last message that was taken in from each sender."""


class CopiedCrawl(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with the tables."""

    now: float
    """The moment, by the server's clock; of several, the last."""
    rules: StoreRules
    parts: list[PartState]
    counts: dict[str, float]
    untold: list[int]
    """Pages of which the modules know a larger depth."""
    last_seen: float | None
    """When a worker gave the last sign of life."""
    notes: dict[str, bytes]
    """The notes of a crawl in a file."""
    unreadable: list[str]
    """What is wrong with records that nobody can read."""
    misplaced: list[str]
    """What is in a partition where it does not belong."""
    lost_links: list[LostLink] = []

    @property
    def is_running(self) -> bool:
        """Whether a worker is alive, as far as one can tell: seen within the time of a lease."""
        if self.last_seen is None or self.counts.get("closed") != AT_WORK:
            return False
        return self.last_seen + self.rules.desk.lease_s > self.now

    @property
    def is_closed(self) -> bool:
        """Whether nobody works on it and nothing is in work."""
        left = self.counts.get("in_work", 0) + self.counts.get("borrowed", 0)
        return not self.is_running and left == 0

    @property
    def is_over(self) -> bool:
        """Whether nobody works on it, and there is nothing left to do, or no budget."""
        if not self.is_closed:
            return False
        waiting = sum(self.counts.get(name, 0) for name in ("unscored", "shelved", "dealt"))
        rules = self.rules
        budget = Budget(rules.max_pages, rules.max_bytes, rules.max_page_bytes)
        budget.pages = int(self.counts.get("pages", 0))
        budget.bytes = int(self.counts.get("bytes", 0))
        return not waiting or budget.exhausted_by(0) is not None

    def on_the_way(self) -> set[tuple[int, int]]:
        """Return the partitions, sender and receiver, between which messages are on their way."""
        return {pair for pair, ahead in _ahead(self.parts) if ahead > 0}


def in_step(parts: Sequence[PartState]) -> bool:
    """Tell whether no part has taken in what had not been sent at its sender's moment."""
    return all(ahead >= 0 for _, ahead in _ahead(parts))


def _ahead(parts: Sequence[PartState]) -> Iterable[tuple[tuple[int, int], int]]:
    for sender, one in enumerate(parts):
        for receiver, other in enumerate(parts):
            yield (sender, receiver), one.sent.get(receiver, 0) - other.received.get(sender, 0)


def read_state(answer: Sequence[Any]) -> PartState:
    """Return what the step that was the moment has answered (`lua/catch_up.lua`)."""
    (seconds, micros), counts, outcomes, untold, seen, sent, received = answer
    return PartState(
        now=int(seconds) + int(micros) / 1e6,
        counts={name.decode(): float(value) for name, value in _pairs(counts)},
        outcomes={name.decode(): int(value) for name, value in _pairs(outcomes)},
        untold=sorted(int(page) for page, _ in _pairs(untold)),
        last_seen=float(seen[1]) if seen else None,
        sent={int(to): int(number) for to, number in _pairs(sent)},
        received={int(sender): int(number) for sender, number in _pairs(received)},
    )


def whole(
    parts: Sequence[PartState],
    rules: StoreRules,
    notes: Mapping[bytes, bytes],
    unreadable: Sequence[str],
    misplaced: Sequence[str],
) -> CopiedCrawl:
    """Return how it is with the crawl that has these parts."""
    state = CopiedCrawl(
        now=max(part.now for part in parts),
        rules=rules,
        parts=list(parts),
        counts=_together(parts),
        untold=sorted(page for part in parts for page in part.untold),
        last_seen=max((part.last_seen for part in parts if part.last_seen), default=None),
        notes={},
        unreadable=list(unreadable),
        misplaced=list(misplaced),
    )
    own = {name.decode(): value for name, value in notes.items() if name not in _LOCAL_NOTES}
    return msgspec.structs.replace(state, notes=own | _notes(state))


def _together(parts: Sequence[PartState]) -> dict[str, float]:
    names = {name for part in parts for name in part.counts}
    found = {name: [part.counts.get(name, 0.0) for part in parts] for name in names}
    return {
        name: max(values) if name in _LARGEST else sum(values) for name, values in found.items()
    }


def _notes(state: CopiedCrawl) -> dict[str, bytes]:
    """Return the notes that an embedded store goes by, as `stores/ledger.py` writes them."""
    counts = state.counts
    numbers = {
        "bytes": int(counts.get("bytes", 0)),
        "queues": state.rules.desk.queues,
        "starts": int(counts.get("lease", 0)) >> LEASES_OF_A_START,
        "unsure_since": counts.get("unsure") or "-inf",
    }
    notes = {name: str(value).encode() for name, value in numbers.items()}
    if ended := int(counts.get("closed", 0)):
        notes["closed"] = b"yes" if state.is_closed else _CLOSED[ended]
    return notes


def _pairs(flat: Sequence[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)
