"""Why URLs ended as they did, for people."""

from gossamer.coordinator.summary import FailedSeed, SeedReport
from gossamer.display.summary import SEEDS_SHOWN, outcome_reasons, seed_reasons
from gossamer.model import Cause, CauseCount, Outcome, Url

MAX_PAGE_BYTES = 10_000_000


def refused(status: int, urls: int) -> CauseCount:
    return CauseCount(
        outcome=Outcome.CLIENT_ERROR, cause=Cause.STATUS_CLIENT_ERROR, status=status, urls=urls
    )


def test_an_outcome_has_its_reason_and_the_option_that_helps() -> None:
    outcomes = {"too_large": 12, "fetched": 2, "not_found": 4, "robots_denied": 1}
    assert outcome_reasons(outcomes, [], MAX_PAGE_BYTES) == [
        ("2", "fetched"),
        (
            "12",
            "too large: over 10 MB; raise --max-page-bytes, or --max-file-bytes for files",
        ),
        ("4", "not found"),
        ("1", "robots denied: if the host is yours, --ignore-robots HOST"),
    ]


def test_the_statuses_behind_an_outcome_are_told() -> None:
    one = outcome_reasons({"client_error": 2}, [refused(403, 2)], MAX_PAGE_BYTES)
    assert one == [("2", "client error: 403 Forbidden")]
    causes = [refused(403, 7), refused(401, 2), refused(499, 2), refused(451, 1), refused(418, 1)]
    (_, words), *_ = outcome_reasons({"client_error": 13}, causes, MAX_PAGE_BYTES)
    assert words == "client error: 403 Forbidden (7), 401 Unauthorized (2), 499 (2), others (2)"


def test_a_failure_without_an_answer_is_told_by_its_cause() -> None:
    cause = CauseCount(outcome=Outcome.TIMED_OUT, cause=Cause.SILENCE_TIMEOUT, status=None, urls=3)
    ((_, words),) = outcome_reasons({"timed_out": 3}, [cause], MAX_PAGE_BYTES)
    assert words == f"timed out: {Cause.SILENCE_TIMEOUT}; raise --timeout, or try again later"


def test_only_failed_seeds_are_told_and_not_too_many() -> None:
    assert [*seed_reasons(SeedReport(fetched=3))] == []
    seeds = [
        FailedSeed(url=Url(f"http://a.test/{n}"), outcome=Outcome.GONE, reason="\x1bgone")
        for n in range(SEEDS_SHOWN + 2)
    ]
    first, second, *_, last = seed_reasons(SeedReport(fetched=1, waiting=1, failed=seeds))
    assert first == "1 of 14 fetched"
    assert second == r"http://a.test/0: \x1bgone"
    assert last == "and 2 more"


def test_pages_without_markers_are_told_with_the_fetched_ones() -> None:
    unmarked = CauseCount(outcome=Outcome.FETCHED, cause=Cause.NO_MARKERS, status=200, urls=2)
    ((_, words),) = outcome_reasons({"fetched": 9}, [unmarked], MAX_PAGE_BYTES)
    assert words == "fetched: 2 without content markers, whose links are not followed"
