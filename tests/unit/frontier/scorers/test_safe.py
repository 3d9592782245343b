import asyncio
import math
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from gossamer.frontier.scorers.builtin import Depth
from gossamer.frontier.scorers.loading import SafeScorer
from gossamer.model import Candidate

MakeCandidate = Callable[..., Candidate]
Scores = Callable[..., list[float]]

pytestmark = pytest.mark.req("D3")


class Returns:
    """A scorer that returns what the test wants."""

    def __init__(self, value: object) -> None:
        self.value = value

    async def score(self, candidates: Sequence[Candidate]) -> object:
        return self.value


class BrokenError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even a message")


class Raises:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def score(self, candidates: Sequence[Candidate]) -> object:
        raise self.error

    async def close(self) -> None:
        raise self.error


def test_good_scores_pass_unchanged(candidate: MakeCandidate, scores: Scores) -> None:
    safe = SafeScorer(Depth(), "depth", strict=True)
    assert scores(safe, [candidate(depth=0), candidate(depth=1)]) == [0, 50]
    assert (safe.name, safe.strict, safe.failures, safe.trouble) == ("depth", True, 0, "")


@pytest.mark.parametrize("answer", [[0, 100, 7], (0.0, 100.0, 7.0)])
def test_any_numbers_in_any_sequence_will_do(
    candidate: MakeCandidate, scores: Scores, answer: object
) -> None:
    result = scores(SafeScorer(Returns(answer), "mine"), [candidate()] * 3)
    assert result == [0.0, 100.0, 7.0]
    assert all(type(score) is float for score in result)


@pytest.mark.parametrize("error", [ValueError("no such page"), BrokenError(), RecursionError()])
def test_a_scorer_that_raises_is_named_and_costs_only_order(
    candidate: MakeCandidate, scores: Scores, error: Exception
) -> None:
    safe = SafeScorer(Raises(error), "mine")
    assert scores(safe, [candidate()] * 2) == [50, 50]
    assert safe.failures == 1
    assert safe.trouble.startswith("the scorer mine raised ")
    assert type(error).__name__ in safe.trouble
    assert repr(safe) == "<SafeScorer mine: 1 failures>"
    asyncio.run(safe.close())
    assert safe.failures == 2


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -0.1, 100.1, "5", None, True, 10**400])
def test_a_score_that_is_none_costs_the_order_of_that_url_alone(
    candidate: MakeCandidate, scores: Scores, wrong: object
) -> None:
    safe = SafeScorer(Returns([1.0, wrong, 3.0]), "mine")
    assert scores(safe, [candidate()] * 3) == [1.0, 50.0, 3.0]
    assert safe.failures == 1
    assert len(safe.trouble) < 300


@pytest.mark.parametrize("answer", [[], [1.0], [1.0] * 3, None, 5.0, {1.0: 2.0, 3.0: 4.0}])
def test_a_wrong_number_of_scores_costs_the_order_of_the_batch(
    candidate: MakeCandidate, scores: Scores, answer: object
) -> None:
    safe = SafeScorer(Returns(answer), "mine")
    assert scores(safe, [candidate()] * 2) == [50, 50]
    assert safe.failures == 1


def test_a_scorer_that_never_answers_is_given_up(candidate: MakeCandidate, scores: Scores) -> None:
    class Hangs:
        async def score(self, candidates: Sequence[Candidate]) -> list[float]:
            await asyncio.Event().wait()
            return []

    safe = SafeScorer(Hangs(), "mine", timeout_s=0.05)
    assert scores(safe, [candidate()]) == [50]
    assert safe.trouble == "the scorer mine took longer than 0.05 s"


def test_a_scorer_that_blocks_keeps_what_came_in_time_and_one_thread(
    candidate: MakeCandidate,
) -> None:
    may_go, threads = threading.Event(), set[int]()

    class Blocks:
        def score(self, candidates: Sequence[Candidate]) -> Iterator[float]:
            threads.add(threading.get_ident())
            for _ in candidates:
                yield 1.0
                may_go.wait()

    async def run() -> None:
        safe = SafeScorer(Blocks(), "mine", timeout_s=0.3)
        before = threading.active_count()
        assert await safe.score([candidate()] * 3) == [1, 50, 50]
        assert safe.trouble == "the scorer mine took longer than 0.3 s"
        for _ in range(5):
            assert await safe.score([candidate()] * 2) == [50, 50]
        assert safe.trouble == "the scorer mine still runs after 0.3 s (6 failures so far)"
        assert (safe.unranked, threading.active_count()) == (12, before + 1)
        may_go.set()
        for _ in range(1000):  # until the call has returned
            await asyncio.sleep(0.01)
            if await safe.score([candidate()]) == [1]:
                break
        else:
            pytest.fail("it is not called again")
        await safe.close()

    asyncio.run(run())
    assert len(threads - {threading.get_ident()}) == len(threads) == 1


def test_its_own_word_about_trouble_is_passed_on() -> None:
    class Troubled(Returns):
        trouble = "the service is away"

    assert SafeScorer(Troubled([]), "mine").trouble == "the service is away"


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    ("scores_given", "unranked"), [([1.0, 2.0], 0), ([1.0, "high"], 1), ([1.0], 2), (None, 2)]
)
def test_it_counts_the_urls_that_were_not_ranked(
    candidate: MakeCandidate, scores: Scores, scores_given: object, unranked: int
) -> None:
    safe = SafeScorer(Returns(scores_given), "mine")
    for times in (1, 2):
        scores(safe, [candidate(), candidate()])
        assert safe.unranked == times * unranked


def test_being_cancelled_is_not_contained(candidate: MakeCandidate) -> None:
    async def run() -> None:
        started = asyncio.Event()

        class Hangs:
            async def score(self, candidates: Sequence[Candidate]) -> list[float]:
                started.set()
                await asyncio.Event().wait()
                return []

        waiting = asyncio.create_task(SafeScorer(Hangs(), "mine").score([candidate()]))
        await started.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())
