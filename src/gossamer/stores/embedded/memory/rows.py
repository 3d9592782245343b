"""What the memory holds of one URL."""

from collections.abc import Sequence

import msgspec

from gossamer.model import Outcome
from gossamer.stores.contract import Attempt, Link, UrlRecord, UrlState
from gossamer.stores.embedded.backend import Known


class Row(msgspec.Struct, eq=False):
    """A URL and everything that happened to it."""

    link: Link
    known: Known
    parent: int | None
    found_at: float
    score: float = 0.0
    queue: int | None = None
    """None until it is scored."""
    in_line: bool = False
    """Whether the URL queue has it, perhaps from an earlier time."""
    outcome: Outcome | None = None
    detail: str = ""
    page_id: int | None = None
    duplicate_of: int | None = None
    attempts: list[Attempt] = msgspec.field(default_factory=list)
    targets: Sequence[int] = ()
    redirect: bool = False

    def record(self) -> UrlRecord:
        """Return all that is known of the URL."""
        known, link = self.known, self.link
        finished = known.state is UrlState.DONE
        return UrlRecord(
            id=known.id,
            url=link.url,
            host=link.host,
            domain=link.domain,
            state=known.state,
            depth=known.depth,
            parent=self.parent,
            score=None if self.queue is None else self.score,
            queue=self.queue,
            outcome=self.outcome,
            detail=self.detail,
            page_id=self.page_id,
            found_at=self.found_at,
            finished_at=known.finished_at if finished else None,
            attempts=len(self.attempts),
            duplicate_of=self.duplicate_of,
        )
