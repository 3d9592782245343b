"""The scorer with a service made up in the test, and a clock that only the test moves."""

import asyncio
import json
from collections.abc import Callable, Sequence
from urllib.parse import parse_qs, urlsplit

import pytest

from gossamer.frontier.scorers.pagerank import (
    FAILURES_IN_A_ROW,
    FIRST_PAUSE_S,
    Answer,
    BreakerState,
    Endpoint,
    PageRank,
    PageRankLimits,
    Question,
)
from gossamer.model import Candidate, Headers

pytestmark = pytest.mark.req("D4", "D15")

MakeCandidate = Callable[..., Candidate]
Scores = Callable[..., list[float]]
LIMITS = PageRankLimits()


class SleepingClock:
    """Seconds that pass only when somebody sleeps, or the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


class Service:
    """Answers by a table of ranks, unless it was told to do something else first."""

    def __init__(self, ranks: dict[str, float], *instead: Answer | OSError) -> None:
        self.ranks = ranks
        self.instead = list(instead)
        self.asked: list[list[str]] = []

    async def __call__(self, question: Question) -> Answer:
        domains = parse_qs(urlsplit(question.url).query)["domains[]"]
        self.asked.append(domains)
        if not self.instead:
            return Answer(200, Headers(), self._body(domains))
        result = self.instead.pop(0)
        if isinstance(result, OSError):
            raise result
        return result

    def _body(self, domains: Sequence[str]) -> bytes:
        rows = [
            {
                "status_code": 200 if domain in self.ranks else 404,
                "page_rank_decimal": self.ranks.get(domain, 0),
                "domain": domain,
            }
            for domain in domains
        ]
        return json.dumps({"status_code": 200, "response": rows}).encode()


def refusal(status: int, **headers: str) -> Answer:
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer(status, Headers(fields), b"")


@pytest.fixture
def clock() -> SleepingClock:
    return SleepingClock()


def scorer(service: Service, clock: SleepingClock, limits: PageRankLimits = LIMITS) -> PageRank:
    return PageRank(service, Endpoint("s3cret"), limits, clock=clock, sleep=clock.sleep)


def test_a_better_rank_is_a_lower_score(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({"a.com": 10, "b.com": 7.63, "c.com": 0})
    found = [candidate(domain=name) for name in ("c.com", "a.com", "b.com", "a.com")]
    assert scores(scorer(service, clock), found) == pytest.approx([100, 0, 23.7, 0])
    assert service.asked == [["c.com", "a.com", "b.com"]]


def test_a_domain_that_is_not_listed_is_in_the_last_tenth_by_its_own_links(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    found = [
        candidate(domain="new.com", credit=9, top_credit=9),
        candidate(domain="small.com", credit=0, top_credit=9),
    ]
    assert scores(scorer(Service({"a.com": 1}), clock), found) == [90, 100]


def test_names_of_ones_own_network_are_never_sent(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({})
    found = [
        candidate(domain="intranet", credit=9, top_credit=9),
        candidate(domain="10.0.0.7", credit=0, top_credit=9),
    ]
    assert scores(scorer(service, clock), found) == [0, 100]
    assert service.asked == []


def test_a_call_has_at_most_a_hundred_domains(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({f"{number}.com": 5 for number in range(250)})
    found = [candidate(domain=f"{number}.com") for number in range(250)] * 2
    assert scores(scorer(service, clock), found) == [50] * 500
    assert [len(domains) for domains in service.asked] == [100, 100, 50]


def test_an_answer_holds_for_a_day_and_a_domain_without_rank_is_not_asked_for_again_either(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({"a.com": 5})
    pagerank = scorer(service, clock)
    found = [candidate(domain="a.com"), candidate(domain="unlisted.com")]
    before = scores(pagerank, found)
    clock.now += LIMITS.ttl_s - 1
    assert scores(pagerank, found) == before
    assert len(service.asked) == 1
    clock.now += 1
    service.ranks["a.com"] = 9
    assert scores(pagerank, found)[0] == 10
    assert len(service.asked) == 2


@pytest.mark.parametrize(
    "trouble",
    [
        ConnectionRefusedError(),
        ConnectionResetError(),
        TimeoutError(),
        refusal(500),
        refusal(503, retry_after="1"),
        refusal(429, retry_after="1"),
        Answer(200, Headers(), b"<html>"),
    ],
    ids=str,
)
def test_trouble_that_passes_is_outlasted(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores, trouble: Answer | OSError
) -> None:
    service = Service({"a.com": 8}, trouble, trouble)
    pagerank = scorer(service, clock)
    assert scores(pagerank, [candidate(domain="a.com")]) == [20]
    assert len(service.asked) == 3
    assert pagerank.trouble == ""


def test_after_the_last_attempt_nobody_waits(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({"a.com": 8}, refusal(500), refusal(500), refusal(500))
    assert scores(scorer(service, clock), [candidate(domain="a.com")]) == [50]
    assert (len(service.asked), len(clock.sleeps)) == (3, 2)


def test_pauses_between_attempts_grow_and_are_repeatable_for_a_seed(
    candidate: MakeCandidate, scores: Scores
) -> None:
    def pauses(seed: int) -> list[float]:
        clock = SleepingClock()
        service = Service({}, refusal(500), refusal(500))
        pagerank = PageRank(
            service, Endpoint("s3cret"), LIMITS, seed=seed, clock=clock, sleep=clock.sleep
        )
        scores(pagerank, [candidate(domain="a.com")])
        return clock.sleeps

    first, second = pauses(1)
    assert 0.1 <= first <= 0.2 <= second <= 0.4
    assert pauses(1) == [first, second]
    assert pauses(2) != [first, second]


def test_retry_after_is_obeyed_where_there_is_time_for_it(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({"a.com": 8}, refusal(429, retry_after="3"))
    assert scores(scorer(service, clock), [candidate(domain="a.com")]) == [20]
    assert clock.sleeps == [3]


@pytest.mark.parametrize(
    ("trouble", "quiet_s"),
    [
        (refusal(429, retry_after="90"), 90),
        (refusal(429), 60),
        (refusal(503, retry_after="30"), 30),
        (refusal(429, retry_after="315360000"), 3600),
        (refusal(401), 600),
        (refusal(302, location="https://elsewhere.example/"), 600),
    ],
)
def test_where_asking_again_is_no_use_it_keeps_quiet_and_goes_on_without_ranks(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores, trouble: Answer, quiet_s: float
) -> None:
    service = Service({"a.com": 8}, trouble)
    pagerank = scorer(service, clock)
    found = [candidate(domain="a.com", credit=9, top_credit=9)]
    started = clock.now
    assert scores(pagerank, found) == [0], "importance takes over"
    assert clock.now == started, "and nobody waits"
    assert "Open PageRank: the service" in pagerank.trouble

    clock.now = started + quiet_s - 0.001
    assert scores(pagerank, found) == [0]
    assert len(service.asked) == 1
    clock.now = started + quiet_s
    assert scores(pagerank, found) == [20]
    assert pagerank.trouble == ""


def test_the_breaker_opens_in_an_outage_and_closes_after_it(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({"a.com": 8}, *[ConnectionRefusedError() for _ in range(6)])
    pagerank = scorer(service, clock)
    found = [candidate(domain="a.com", credit=1, top_credit=99)]
    by_importance = pytest.approx([85], abs=1)

    for _ in range(10):
        assert scores(pagerank, found) == by_importance
    assert len(service.asked) == FAILURES_IN_A_ROW
    assert f"breaker {BreakerState.OPEN}" in repr(pagerank)

    clock.now += FIRST_PAUSE_S
    clock.sleeps.clear()
    for _ in range(10):
        assert scores(pagerank, found) == by_importance
    assert len(service.asked) == FAILURES_IN_A_ROW + 1, "one probe, not three attempts"
    assert clock.sleeps == [], "and nobody waits for it"

    clock.now += 2 * FIRST_PAUSE_S
    assert scores(pagerank, found) == by_importance
    clock.now += 4 * FIRST_PAUSE_S
    assert scores(pagerank, found) == [20]
    assert repr(pagerank) == "<PageRank: 7 calls, 6 failed, 1 domains known, breaker closed>"


def test_one_failed_batch_ends_the_asking_and_what_is_known_is_used(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({f"{number}.com": 5 for number in range(300)})
    pagerank = scorer(service, clock)
    found = [candidate(domain=f"{number}.com") for number in range(300)]
    scores(pagerank, found[:100])
    service.instead = [refusal(401)]
    result = scores(pagerank, found)
    assert result == [50] * 300  # the rank's 50 and the 50 of importance without credit
    assert len(service.asked) == 2


def test_it_never_waits_longer_than_its_budget(candidate: MakeCandidate, scores: Scores) -> None:
    async def hang(_: Question) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> tuple[list[float], float]:
        loop = asyncio.get_running_loop()
        pagerank = PageRank(hang, Endpoint("s3cret"), PageRankLimits(budget_s=0.1))
        started = loop.time()
        return await pagerank.score([candidate(domain="a.com")]), loop.time() - started

    result, took_s = asyncio.run(run())
    assert result == [50]
    assert 0.09 < took_s < 20


def test_being_cancelled_is_no_failure_of_the_service_and_leaves_it_usable(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    asked = asyncio.Event()
    service = Service({"a.com": 8})

    async def hang_once(question: Question) -> Answer:
        if asked.is_set():
            return await service(question)
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> list[float]:
        pagerank = PageRank(hang_once, Endpoint("s3cret"), LIMITS, clock=clock, sleep=clock.sleep)
        waiting = asyncio.create_task(pagerank.score([candidate(domain="a.com")]))
        await asked.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await pagerank.score([candidate(domain="a.com")])

    assert asyncio.run(run()) == [20]


def test_the_key_shows_nowhere(
    clock: SleepingClock, candidate: MakeCandidate, scores: Scores
) -> None:
    service = Service({}, ConnectionError("could not send API-OPR: s3cret"), refusal(401))
    pagerank = scorer(service, clock)
    scores(pagerank, [candidate(domain="a.com")])
    assert "s3cret" not in repr(pagerank) + pagerank.trouble + repr(vars(pagerank))


def test_closing_closes_what_carries_the_requests(clock: SleepingClock) -> None:
    class SqliteImporter(Service):
        closed = False

        async def close(self) -> None:
            self.closed = True

    importer = SqliteImporter({})
    asyncio.run(scorer(importer, clock).close())
    assert importer.closed
    asyncio.run(scorer(Service({}), clock).close())
