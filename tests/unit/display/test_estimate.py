"""How long a crawl will go on."""

import msgspec
import pytest

from gossamer.display.status import about, estimate
from gossamer.model import Snapshot
from gossamer.stores.reading import HostView


@pytest.fixture
def polite(snapshot: Snapshot) -> Snapshot:
    """One host, asked once a second for half a minute."""
    return msgspec.structs.replace(
        snapshot,
        waiting=242,
        in_progress=1,
        pages=27,
        elapsed_s=30.0,
        pages_per_s=0.9,
        urls_per_s=1.0,
    )


def host(waiting: int, mean_ms: float, delay_s: float = 1.0) -> HostView:
    return HostView(
        host="a.test",
        waiting=waiting,
        in_progress=0,
        pages=9,
        failures=0,
        next_in_s=0.0,
        delay_s=delay_s,
        mean_ms=mean_ms,
    )


def test_what_is_known_takes_as_long_as_what_was_done(polite: Snapshot) -> None:
    assert estimate(polite, []) == "243 known URLs, at 1.0s each about 4 min"


def test_a_crawl_takes_as_long_as_its_busiest_host(polite: Snapshot) -> None:
    fast = msgspec.structs.replace(polite, urls_per_s=20.0)
    assert estimate(fast, [host(10, 0.0), host(200, 500.0)]).endswith("each about 5 min")
    assert (
        estimate(fast, [host(200, 500.0, delay_s=0.0)]) == "243 known URLs, at 50ms each about 12 s"
    )


def test_a_budget_may_end_it_before(polite: Snapshot) -> None:
    near = msgspec.structs.replace(polite, max_pages=117)
    assert estimate(near, []) == "90 pages to the page budget, at 1.1s each about 2 min"


@pytest.mark.parametrize(
    "changes",
    [{"waiting": 0, "in_progress": 0}, {"urls_per_s": 0.0}, {"elapsed_s": 1.0}],
    ids=["nothing left", "nothing done", "too early"],
)
def test_what_nobody_knows_is_not_shown(polite: Snapshot, changes: dict[str, float]) -> None:
    assert estimate(msgspec.structs.replace(polite, **changes), []) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.1, "1 s"), (89, "89 s"), (240, "4 min"), (7200, "2 h"), (200_000, "2 days")],
)
def test_times_are_told_roughly(seconds: float, words: str) -> None:
    assert about(seconds) == words
