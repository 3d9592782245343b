"""Pages and bytes in work plus finished never exceed the budgets."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gossamer.model import Outcome
from gossamer.stores.contract import Pace

if TYPE_CHECKING:
    from tests.contract.conftest import Lab

pytestmark = pytest.mark.req("D14")


def plant_many(lab: "Lab") -> None:
    lab.plant(*[f"h{number}/" for number in range(30)])


def test_a_lease_reserves_a_page(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(workers=2, max_pages=3)
    plant_many(lab)
    lab.score()
    lab.route()
    tasks = lab.lease(0) + lab.lease(1)
    assert len(tasks) == 3
    lab.keep(tasks[0])
    assert lab.lease(0) + lab.lease(1) == []
    lab.miss(tasks[1])
    (task,) = lab.lease(0) + lab.lease(1)
    lab.keep(task)
    assert lab.ended_by() is None, "one is still in work"
    lab.keep(tasks[2])
    assert lab.ended_by() == "max-pages"
    assert lab.snapshot().pages == 3
    assert lab.snapshot().waiting == 26


@pytest.mark.parametrize("end", ["missing", "retry", "put back", "reaped", "duplicate"])
def test_what_was_not_used_is_returned(open_lab: "Callable[..., Lab]", end: str) -> None:
    lab = open_lab(max_pages=1, lease_s=60.0, delay_s=0.0)
    plant_many(lab)
    (task,) = lab.take()
    match end:
        case "missing":
            lab.miss(task)
        case "retry":
            lab.retry(task)
        case "put back":
            lab.put_back(task)
        case "reaped":
            lab.now += 60
            lab.reap()
        case _:
            lab.settle(task, Outcome.DUPLICATE, pace=Pace(ended=lab.now))
    assert lab.ended_by() is None
    assert len(lab.take()) == 1


def test_a_lease_reserves_the_bytes_of_the_largest_page(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(max_bytes=1000, max_page_bytes=400)
    plant_many(lab)
    first, second = lab.take()
    lab.keep(first, size=100)
    (third,) = lab.take()
    lab.keep(second, size=400)
    assert lab.take() == []
    lab.keep(third, size=50)
    assert lab.snapshot().bytes == 550
    (last,) = lab.take()
    lab.keep(last, size=200)
    assert lab.ended_by() == "max-bytes"


def test_what_is_downloaded_and_not_kept_counts(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(max_bytes=1000, max_page_bytes=400, delay_s=0.0)
    plant_many(lab)
    first, second = lab.take()
    lab.settle(first, Outcome.NOT_HTML, size=300, pace=Pace(ended=lab.now))
    lab.settle(second, Outcome.TIMED_OUT, size=350, retry=True, pace=Pace(ended=lab.now))
    assert lab.snapshot().bytes == 650
    assert lab.snapshot().pages == 0
    assert lab.ended_by() == "max-bytes"


def test_a_budget_smaller_than_a_page_is_one_page(open_lab: "Callable[..., Lab]") -> None:
    lab = open_lab(max_bytes=1000, max_page_bytes=500_000)
    plant_many(lab)
    (task,) = lab.take()
    assert lab.take() == []
    lab.miss(task)
    (task,) = lab.take()
    lab.keep(task, size=1000)
    assert lab.ended_by() == "max-bytes"
    assert lab.snapshot().bytes == 1000


@pytest.mark.parametrize(
    ("rule", "ended_by"), [("max_pages", "max-pages"), ("max_bytes", "max-bytes")]
)
def test_no_budget_is_no_crawl(open_lab: "Callable[..., Lab]", rule: str, ended_by: str) -> None:
    lab = open_lab(**{rule: 0})
    plant_many(lab)
    assert lab.take() == []
    assert lab.ended_by() == ended_by


def test_who_waits_for_a_reservation_asks_again_at_once(open_lab: "Callable[..., Lab]") -> None:
    """Its hosts are ready: not they, others say when."""
    lab = open_lab(max_pages=1)
    plant_many(lab)
    (task,) = lab.take()
    assert lab.wake_at() == lab.now
    lab.keep(task)
    assert lab.ended_by() == "max-pages"


@pytest.mark.parametrize("clean", [True, False])
def test_a_restart_goes_on_counting(open_lab: "Callable[..., Lab]", clean: bool) -> None:
    lab = open_lab(max_pages=3, max_bytes=1000, max_page_bytes=300, delay_s=0.0)
    plant_many(lab)
    first, second, _ = lab.take()
    lab.keep(first, size=120)
    lab.settle(second, Outcome.NOT_HTML, size=80, pace=Pace(ended=lab.now))
    lab.commit()
    (lab.reopen if clean else lab.crash)()
    snapshot = lab.snapshot()
    assert (snapshot.pages, snapshot.bytes) == (1, 200)
    tasks = lab.take()
    assert len(tasks) == 2, "two pages are left, and none is reserved by the dead"
    for task in tasks:
        lab.keep(task, size=300)
    assert lab.ended_by() == "max-pages"
    assert lab.snapshot().bytes == 800


def test_a_crawl_that_is_complete_says_so_even_if_a_budget_is_used_up(
    open_lab: "Callable[..., Lab]",
) -> None:
    lab = open_lab(max_pages=1)
    lab.plant("a/")
    (task,) = lab.take()
    lab.keep(task)
    assert lab.ended_by() == "complete"
