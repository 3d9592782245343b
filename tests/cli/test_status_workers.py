"""The workers in the output of `gossamer status`."""

import msgspec
import pytest

from gossamer.cli.status import WORKERS_SHOWN, status_lines
from gossamer.coordinator.summary import SeedReport
from gossamer.stores.crawl_views import WorkerView
from gossamer.views.status import CrawlStatus

WORKER = WorkerView(
    number=1,
    pid=4711,
    machine="here.example",
    hosts=1204,
    in_progress=16,
    memory=104_000_000,
    busy=0.97,
    silent_s=5.0,
    dead_in_s=25.0,
)
AWAY = msgspec.structs.replace(WORKER, number=2, pid=12, machine="b.test", busy=0.0)
SILENT = msgspec.structs.replace(AWAY, number=3, silent_s=12.3)
NEW = msgspec.structs.replace(
    WORKER, number=14, pid=None, machine=None, hosts=0, in_progress=0, memory=None, busy=None
)
STATUS = CrawlStatus(
    where="site",
    state="running",
    ended_by=None,
    waiting=0,
    in_progress=0,
    finished=0,
    too_deep=0,
    pages=0,
    visits=0,
    bytes=0,
    received=0,
    max_pages=None,
    max_bytes=None,
    outcomes={},
    causes=[],
    seeds=SeedReport(),
    max_page_bytes=None,
    url_states={"unscored": 0},
    hosts=0,
    busiest_hosts=[],
    workers=[],
    resting_s=0.0,
    depths=[],
    queues=[],
    url_queue=None,
    url_queue_peak=0,
    started_at=None,
    last_at=None,
)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "here.example")


def lines_of(*workers: WorkerView) -> list[str]:
    """Return the lines about the workers."""
    lines = list(status_lines(msgspec.structs.replace(STATUS, workers=list(workers))))
    first = [number for number, line in enumerate(lines) if line.startswith("  workers")]
    return lines[first[0] :] if first else []


@pytest.mark.req("F5", "D18")
def test_every_worker_has_a_line() -> None:
    assert lines_of(WORKER, AWAY, SILENT, NEW) == [
        "  workers     worker   pid  hosts  in progress  memory  busy",
        "                   1  4711  1,204           16  104 MB   97%",
        "                   2    12  1,204           16  104 MB    0%  on b.test",
        "                   3    12  1,204           16  104 MB    0%  silent for 12s, on b.test",
        "                  14     -      0            0       -     -",
    ]


def test_nothing_is_said_where_nobody_works() -> None:
    assert lines_of() == []


def test_of_very_many_the_first_ones_are_shown() -> None:
    workers = [msgspec.structs.replace(WORKER, number=number) for number in range(1, 501)]
    lines = lines_of(*workers)
    assert len(lines) == 1 + WORKERS_SHOWN
    assert lines[-1].strip() == "… and 481 more"
    assert lines_of(*workers[:WORKERS_SHOWN])[-1].split()[0] == str(WORKERS_SHOWN)


@pytest.mark.req("D19")
def test_the_name_of_a_machine_does_not_steer_the_terminal() -> None:
    hostile = msgspec.structs.replace(WORKER, machine="\x1b[2J\r\n" + "x" * 1000)
    (_, line) = lines_of(hostile)
    assert line.isprintable()
    assert len(line) < 120


def test_a_standstill_is_told_below_the_state() -> None:
    resting = msgspec.structs.replace(STATUS, resting_s=24.2, workers=[WORKER])
    silent = msgspec.structs.replace(STATUS, workers=[WORKER, SILENT])
    assert list(status_lines(resting))[2].strip().startswith("waiting 24s: the store was restarted")
    assert "waiting up to 25s: worker 3 of 1,204 hosts is silent" in list(status_lines(silent))[2]
