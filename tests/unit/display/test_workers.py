"""The words about workers."""

import math

import msgspec
import pytest

from gossamer.display.status import (
    WORKER_HEADING,
    at_work,
    first_workers,
    is_silent,
    worker_figures,
    worker_remark,
)
from gossamer.stores.reading import WorkerView
from gossamer.views.status import WorkerEntry, worker_entries


@pytest.fixture
def entries(workers: list[WorkerView]) -> list[WorkerEntry]:
    return worker_entries(workers)


def test_every_figure_has_a_heading(entries: list[WorkerEntry]) -> None:
    rows = [dict(zip(WORKER_HEADING, worker_figures(one), strict=True)) for one in entries]
    assert rows[0] == {
        "worker": "1",
        "pid": "4711",
        "hosts": "9",
        "in progress": "12",
        "memory": "104 MB",
        "busy": "97%",
    }
    assert [rows[2][name] for name in ("pid", "memory", "busy")] == ["-", "-", "-"]


@pytest.mark.parametrize(
    ("busy", "shown"), [(0.0, "0%"), (0.004, "0%"), (1.0, "100%"), (1.04, "104%"), (math.nan, "-")]
)
def test_the_share_of_a_core(entries: list[WorkerEntry], busy: float, shown: str) -> None:
    assert worker_figures(msgspec.structs.replace(entries[0], busy=busy))[-1] == shown


def test_together(entries: list[WorkerEntry]) -> None:
    assert at_work([]) == []
    assert at_work(entries) == ["3 workers, 202 MB"]
    assert at_work(entries[:1]) == ["1 worker, 104 MB"]
    assert at_work(entries[2:]) == ["1 worker"]


def test_a_last_line_takes_the_place_of_those_that_do_not_fit(entries: list[WorkerEntry]) -> None:
    assert first_workers(entries, 3) == (entries, None)
    assert first_workers(entries, 2) == (entries[:1], "… and 2 more")
    assert first_workers(entries * 1000, 2) == (entries[:1], "… and 2,999 more")


def test_remarks(entries: list[WorkerEntry]) -> None:
    assert [worker_remark(one, "here.example") for one in entries] == [
        "",
        "silent for 12s, on there.example",
        "",
    ]
    assert worker_remark(entries[0], "there.example") == "on here.example"
    assert [is_silent(msgspec.structs.replace(entries[0], silent_s=s)) for s in (5.0, 5.1)] == [
        False,
        True,
    ]
