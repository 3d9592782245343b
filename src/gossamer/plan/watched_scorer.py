"""The scorer of a crawl with what goes wrong with it: told at once, counted for all to read."""

from collections.abc import Callable, Sequence

import msgspec

from gossamer.frontier.contract import FrontierClient
from gossamer.frontier.scorers import SafeScorer
from gossamer.frontier.scorers.contract import ScorerReport
from gossamer.model import Candidate
from gossamer.stores.notes import read_note

SCORER_NOTE = "scorer"
"""The note, stored with the crawl, of how many URLs went unranked and why; none: all are ranked."""
IN_TIME = "not all URLs could be ranked in time"

Say = Callable[..., None]
"""As `Observer.say`: the level, a sentence, and its figures by name."""


class WatchedScorer:
    """A scorer whose first trouble is said, once, and whose unranked URLs are counted in a note.

    Of several processes that rank one after the other each adds its own to the note.
    """

    def __init__(self, scorer: SafeScorer, store: FrontierClient, say: Say) -> None:
        self.name = scorer.name
        self.strict = scorer.strict
        self._scorer = scorer
        self._store = store
        self._say = say
        self._is_said = False
        self._noted = scorer.unranked
        """How many of its unranked URLs the note counts."""
        self._before: int | None = None
        """How many the note counted when it was first read."""

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each candidate."""
        scores = await self._scorer.score(candidates)
        if self._scorer.unranked > self._noted:
            await self._note()
        return scores

    async def check(self) -> None:
        """Say that URLs go unranked also where another process ranks them."""
        report = await read_report(self._store)
        count = report.unranked if report else 0
        if self._before is None:
            self._before = count
        elif report is not None and count > self._before:
            self._tell(report)

    async def _note(self) -> None:
        more = self._scorer.unranked - self._noted
        self._noted += more
        before = await read_report(self._store)
        if before is not None and before.name == self.name:
            more += before.unranked
        trouble = self._scorer.trouble or IN_TIME
        report = ScorerReport(name=self.name, trouble=trouble, unranked=more)
        await self._store.put_note(SCORER_NOTE, msgspec.json.encode(report))
        self._tell(report)

    def _tell(self, report: ScorerReport) -> None:
        if not self._is_said:
            self._is_said = True
            words = f"URLs are not ranked: {report.trouble}"
            self._say("warning", words, unranked=report.unranked)


async def read_report(store: FrontierClient) -> ScorerReport | None:
    """Return what went wrong with the scorer so far; None: nothing has."""
    return unpack_report(await store.note(SCORER_NOTE))


def unpack_report(note: bytes | None) -> ScorerReport | None:
    """Return what the note says."""
    return read_note(note, ScorerReport, "the note of the scorer in the store is")
