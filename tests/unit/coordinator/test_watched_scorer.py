"""What several processes of a crawl could not rank adds up, and each says it once."""

import asyncio
from collections.abc import Sequence

import pytest

from gossamer.coordinator.scoring import SCORER_NOTE, WatchedScorer, read_report
from gossamer.frontier.rules import FrontierRules
from gossamer.frontier.scorers.loading import SafeScorer
from gossamer.frontier.service import Frontier
from gossamer.model import Candidate, HostKey, Url
from gossamer.model.errors import CrawlError
from gossamer.stores.sqlite.rows import SqliteRows

pytestmark = pytest.mark.req("D4")

ONE = Candidate(1, Url("http://a.com/"), HostKey("a.com"), "a.com", 0, 0.0, 1.0)


class Moody:
    """A scorer that reports trouble by itself, when it has any."""

    def __init__(self) -> None:
        self.trouble = ""

    def score(self, candidates: Sequence[Candidate]) -> list[float]:
        return [1.0] * len(candidates)


class ScorerProcess:
    """One process that may rank."""

    def __init__(self, store: Frontier) -> None:
        self.said: list[object] = []
        self.scorer = Moody()
        safe = SafeScorer(self.scorer, "moody")
        self.watched = WatchedScorer(safe, store, lambda *words, **more: self.said.append(more))


def test_what_goes_unranked_is_counted_over_all_processes() -> None:
    async def run() -> None:
        store = Frontier(SqliteRows(), FrontierRules(), 0.0)
        one, other = ScorerProcess(store), ScorerProcess(store)
        await other.watched.check()
        assert await one.watched.score([ONE]) == [1.0]
        assert await read_report(store) is None, "all is well"
        one.scorer.trouble = other.scorer.trouble = "the service is away"
        for process in (one, other, one):
            await process.watched.score([ONE, ONE])
            await other.watched.check()
        report = await read_report(store)
        assert report is not None
        assert (report.name, report.trouble, report.unranked) == ("moody", "the service is away", 6)
        assert one.said == [{"unranked": 2}]
        assert other.said == [{"unranked": 2}], "it has heard of it before it met it"
        await store.put_metadata(SCORER_NOTE, b"{")
        with pytest.raises(CrawlError, match="the note of the scorer in the store is damaged"):
            await read_report(store)

    asyncio.run(run())
