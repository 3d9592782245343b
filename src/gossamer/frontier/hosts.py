"""The state of one host and of one registered domain in a crawl."""

from dataclasses import dataclass, field

from gossamer.model import HostKey


@dataclass(slots=True, eq=False)
class Domain:
    """A registered domain: all its hosts are served by one worker at a time."""

    name: str
    worker: int | None = None
    """Who serves it; None until the first URL is dealt."""
    kept_until: float = 0.0
    """Until when the worker keeps it without work."""
    busy: int = 0
    """How many of its URLs are dealt or in work: a domain in use does not change hands."""


@dataclass(slots=True, eq=False)
class Host:
    """A host: one request at a time, and a pause after each."""

    key: HostKey
    domain: Domain
    delay_s: float
    """The pause that it gets: the configured one, or a longer one that its robots.txt asks for."""
    next_start: float = 0.0
    """The earliest moment of its next request."""
    failures: int = 0
    """How many of its requests failed in a row, for the back-off."""
    unanswered: int = 0
    """How many of those in a row it did not answer at all."""
    failed_at: float = 0.0
    """When the last of those ended."""
    promised_until: float = 0.0
    """Until when its next place is kept for a request without a URL of its own."""
    lent_last: bool = False
    """Whether its last place went to such a request."""
    in_work: int = 0
    shelved: list[int] = field(default_factory=list)
    """How many of its URLs wait in each priority queue."""
    in_ring: list[bool] = field(default_factory=list)
    """Whether it stands in the ring of each priority queue."""
    dealt: list[tuple[float, int]] = field(default_factory=list)
    """A heap of (score, URL id): its part of the worker's queue."""

    requests: int = 0
    failed: int = 0
    pages: int = 0
    took_s: float = 0.0
    """Of all its requests together."""

    def __repr__(self) -> str:
        return (
            f"<Host {self.key}: {sum(self.shelved)} shelved, {len(self.dealt)} dealt, "
            f"{self.in_work} in work, next at {self.next_start:.3f}>"
        )

    @property
    def idle(self) -> bool:
        """Whether nothing of it waits or is in work."""
        return not self.in_work and not self.dealt and not any(self.shelved)

    @property
    def waiting(self) -> int:
        """How many of its URLs wait."""
        return sum(self.shelved) + len(self.dealt)

    @property
    def mean_s(self) -> float:
        """How long its requests take."""
        return self.took_s / self.requests if self.requests else 0.0

    def note_request(self, ended: float, took_s: float, *, failed: bool, answered: bool) -> None:
        """Count a request and, if the host failed at it, how often it has in a row."""
        self.requests += 1
        self.failed += failed
        self.took_s += took_s
        if not failed:
            self.failures = self.unanswered = 0
        elif ended - took_s >= self.failed_at:
            # What was on its way together fails together, and counts as one.
            self.failures += 1
            self.unanswered = 0 if answered else self.unanswered + 1
            self.failed_at = ended
