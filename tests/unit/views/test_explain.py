"""`explain`: why a URL was fetched or not, and what it waits for."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import xxhash
from tests.unit.views.reading import explained, in_directory

from gossamer import CrawlError
from gossamer.model import Cause, Outcome
from gossamer.stores.crawl_views import ReadRequest
from gossamer.views.explain import Explanation


def steps(found: Explanation) -> list[tuple[int, str, str]]:
    return [(one.depth, one.url, one.over) for one in found.path]


@pytest.mark.req("B5")
def test_a_page_that_was_fetched_over_a_redirect(finished: ReadRequest) -> None:
    found = explained(finished, "http://a.test/x")
    assert (found.state, found.outcome, found.depth) == ("finished", Outcome.FETCHED, 2)
    assert steps(found) == [
        (0, "http://a.test/", "seed"),
        (1, "http://a.test/old", "link"),
        (1, "http://a.test/new", "redirect"),
        (2, "http://a.test/x", "link"),
    ]
    assert found.scope is not None
    assert found.scope.words == "scope host: a.test is one of the seeds' hosts"
    assert found.page is not None
    assert found.page.url == "http://a.test/x"
    assert [(one.outcome, one.status) for one in found.attempts] == [(Outcome.FETCHED, 200)]
    assert found.waits is None


@pytest.mark.req("B5")
def test_every_attempt_is_told(finished: ReadRequest) -> None:
    first, second = explained(finished, "http://a.test/flaky").attempts
    assert (first.outcome, first.status) == (Outcome.SERVER_ERROR, 503)
    assert first.cause is Cause.STATUS_SERVER_ERROR
    assert second.outcome is Outcome.FETCHED
    assert second.at > first.at


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("path", "outcome", "words"),
    [
        ("/secret", Outcome.ROBOTS_DENIED, "Disallow: /secret"),
        ("/missing", Outcome.NOT_FOUND, "404"),
        ("/old", Outcome.REDIRECTED, "to http://a.test/new"),
        ("/same", Outcome.DUPLICATE, "the same content as page"),
    ],
)
def test_the_rule_that_decided_is_named(
    finished: ReadRequest, path: str, outcome: Outcome, words: str
) -> None:
    found = explained(finished, f"http://a.test{path}")
    assert (found.outcome, found.page) == (outcome, None)
    assert words in found.detail


@pytest.mark.req("B5", "D9")
def test_the_page_that_a_duplicate_repeats_is_told(finished: ReadRequest) -> None:
    found = explained(finished, "http://a.test/same")
    assert found.duplicate_of is not None
    assert found.duplicate_of.url == "http://a.test/2"
    assert found.duplicate_of.similarity == found.duplicate_of.own_similarity == 1.0
    assert found.detail == f"the same content as page {found.duplicate_of.id}"
    assert explained(finished, "http://a.test/2").duplicate_of is None


@pytest.mark.req("B5", "C8")
@pytest.mark.parametrize(
    "spelling",
    ["HTTP://A.test:80/new#top", "http://a.test//new", "http://a.test./new?utm_source=x&&"],
)
def test_other_spellings_are_the_same_url(finished: ReadRequest, spelling: str) -> None:
    found = explained(finished, spelling)
    assert (found.known_as, found.outcome) == ("http://a.test/new", Outcome.FETCHED)


@pytest.mark.req("B5")
def test_a_url_beyond_the_depth_limit(finished: ReadRequest) -> None:
    found = explained(finished, "http://a.test/deepest")
    assert (found.state, found.depth, found.max_depth) == ("too_deep", 4, 3)
    assert [one.url for one in found.path][-2:] == [
        "http://a.test/deeper",
        "http://a.test/deepest",
    ]


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://b.test/", "scope host: b.test is not one of the seeds' hosts"),
        ("http://a.test/never", "scope host: a.test is one of the seeds' hosts"),
    ],
)
def test_a_url_that_was_never_seen_is_judged_now(
    finished: ReadRequest, url: str, words: str
) -> None:
    found = explained(finished, url)
    assert (found.state, found.known_as, found.path) == ("never_seen", None, [])
    assert found.scope is not None
    assert found.scope.words == words
    assert found.urls_left == 0


def test_the_patterns_of_the_crawl_count(directory: Path, keep: Callable[..., None]) -> None:
    keep(directory, exclude=["nev.r"])
    scope = explained(in_directory(directory), "http://a.test/never").scope
    assert scope is not None
    assert (scope.accepted, scope.rule) == (False, "exclude")


NOW = 1000.0


@pytest.fixture
def waiting(directory: Path, damage: Callable[[str], None]) -> Path:
    """The crawl with more to do; the names of URLs say their state and the order in it."""
    damage("UPDATE hosts SET delay_s = 2.0, next_start = 1010.0, failures = 3")
    rows = [
        ("unscored-1", 0, None, None),
        ("unscored-2", 0, None, None),
        ("queued-3", 1, 55.0, 5),
        ("queued-1", 1, 50.0, 5),
        ("queued-2", 1, 50.0, 5),
        ("other-queue", 1, 10.0, 1),
        ("in-progress", 1, 0.0, 0),
    ]
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db, db:
        for name, state, score, queue in rows:
            url = f"http://a.test/{name}"
            db.execute(
                "INSERT INTO urls "
                "(url, key, state, score, queue, host, depth, parent, hops, found_at) "
                "VALUES (?, ?, ?, ?, ?, 1, 1, 1, 0, 1.0)",
                (url, xxhash.xxh3_128_digest(url.encode()), state, score, queue),
            )
        db.execute(
            "INSERT INTO leases (url, number, worker, deadline, allowed, shared, unproven) "
            "SELECT id, 1, 0, 1100.0, 0, 0, 0 FROM urls WHERE url LIKE '%/in-progress'"
        )
        db.execute("DELETE FROM notes WHERE name = 'counts'")  # then whoever reads counts them
    return directory


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("name", "obstacles", "ahead", "at_least_s"),
    [
        ("unscored-1", ["no-process", "score", "host"], 0, 10),
        ("unscored-2", ["no-process", "score", "host"], 1, 10),
        ("queued-1", ["no-process", "queue", "host"], 1, 10 + 1 * 2),
        ("queued-2", ["no-process", "queue", "host"], 2, 10 + 2 * 2),
        ("queued-3", ["no-process", "queue", "host"], 3, 10 + 3 * 2),
        ("other-queue", ["no-process", "queue", "host"], 1, 10 + 1 * 2),
    ],
)
def test_what_a_url_waits_for_and_how_long(
    waiting: Path, name: str, obstacles: list[str], ahead: int, at_least_s: float
) -> None:
    found = explained(in_directory(waiting), f"http://a.test/{name}", NOW)
    assert found.state == "waiting"
    assert found.waits is not None
    assert (found.waits.obstacles, found.waits.ahead) == (obstacles, ahead)
    assert found.waits.at_least_s == at_least_s
    assert (found.waits.host_delay_s, found.waits.host_failures) == (2.0, 3)


@pytest.mark.req("B5", "D14")
@pytest.mark.parametrize("budget", ["max-pages", "max-bytes"])
def test_a_budget_that_is_used_up_is_in_the_way(
    waiting: Path, keep: Callable[..., None], budget: str
) -> None:
    keep(waiting, **{budget.replace("-", "_"): 9})
    found = explained(in_directory(waiting), "http://a.test/queued-1", NOW)
    assert found.waits is not None
    assert found.waits.obstacles == ["no-process", budget, "queue", "host"]


def test_a_host_that_may_be_asked_is_not_in_the_way(waiting: Path) -> None:
    found = explained(in_directory(waiting), "http://a.test/unscored-1", 1010.0)
    assert found.waits is not None
    assert (found.waits.obstacles, found.waits.at_least_s) == (["no-process", "score"], 0)


def test_a_url_in_progress_waits_for_nothing(waiting: Path) -> None:
    found = explained(in_directory(waiting), "http://a.test/in-progress", NOW)
    assert (found.state, found.waits, found.urls_left) == ("in_progress", None, 7)


def test_a_path_that_was_tampered_with_ends(directory: Path, damage: Callable[[str], None]) -> None:
    damage("UPDATE urls SET parent = 2 WHERE id = 1; UPDATE urls SET parent = 1 WHERE id = 2")
    assert len(explained(in_directory(directory), "http://a.test/1").path) == 2


def test_what_makes_no_sense_is_damage(directory: Path, damage: Callable[[str], None]) -> None:
    damage("UPDATE attempts SET outcome = 'eaten', cause = 'HUNGER' WHERE url = 1")
    with pytest.raises(CrawlError, match=r"is damaged: .*run 'gossamer verify'"):
        explained(in_directory(directory), "http://a.test/")
