"""How many URLs ended for which reason: the counters behind the outcomes of a crawl.

A store counts its finished URLs by reason. From these counts follow how many ended with each
outcome, and why downloads failed.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Self

import msgspec

from gossamer.model import Cause, CauseCount, Outcome

REASONS_NOTE = "reasons"
"""The note of an embedded store with these counts, so that nobody has to count at its opening."""
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
    sums: dict[str, int] = {}
    for reason, urls in counts:
        if urls:
            sums[str(reason.outcome)] = sums.get(reason.outcome, 0) + urls
    return sums


def cause_counts(counts: Iterable[tuple[Reason, int]]) -> list[CauseCount]:
    """Return why downloads failed, the most frequent cause first."""
    found = [
        CauseCount(outcome=reason.outcome, cause=reason.cause, status=reason.status, urls=urls)
        for reason, urls in counts
        if reason.cause is not None and urls
    ]
    return sorted(found, key=lambda one: (-one.urls, one.outcome, one.cause, one.status or 0))


def parsed_counts(fields: Mapping[str, int]) -> list[tuple[Reason, int]]:
    """Return counts whose reasons `str` has written; ValueError for any other text."""
    return [(Reason.parse(text), urls) for text, urls in fields.items()]


def pack_reason_counts(counts: Mapping[Reason, int]) -> bytes:
    """Return counts as they are stored."""
    texts = {str(reason): urls for reason, urls in counts.items() if urls}
    return msgspec.json.encode(dict(sorted(texts.items())))


def read_reason_counts(note: bytes | None) -> dict[Reason, int]:
    """Return counts that were stored; none if there is no note."""
    return dict(parsed_counts(msgspec.json.decode(note or b"{}", type=dict[str, int])))
