"""A crawl that stands still for a reason says so: to people, everywhere where it is shown."""

import io

import msgspec
import pytest
from rich.console import Console

from gossamer.display.lines import PlainLines
from gossamer.display.live import Panel
from gossamer.display.outlet import Message, Outlet
from gossamer.display.status import resting_words, standstill
from gossamer.model import Snapshot
from gossamer.stores.reading import HostView, WorkerView
from gossamer.views.status import worker_entries


def silent(number: int, dead_in_s: float, in_progress: int = 2) -> WorkerView:
    return WorkerView(
        number=number, hosts=3, in_progress=in_progress, silent_s=8.0, dead_in_s=dead_in_s
    )


@pytest.mark.parametrize(
    ("resting_s", "workers", "words"),
    [
        (0.0, [], None),
        (23.6, [], "waiting 24s: the store was restarted, and hosts rest after that"),
        (90.0, [silent(1, 9.0)], "waiting 1m 30s: the store was restarted"),
        (0.0, [silent(2, 22.2)], "waiting up to 22s: worker 2 of 3 hosts is silent"),
        (0.0, [silent(2, 22.2), silent(4, 25.0)], "up to 25s: 2 workers of 6 hosts are silent"),
        (0.0, [silent(2, 22.2, in_progress=0)], None),
        (0.0, [msgspec.structs.replace(silent(2, 29.0), silent_s=1.0)], None),
    ],
)
def test_who_waits_for_what(resting_s: float, workers: list[WorkerView], words: str | None) -> None:
    found = standstill(resting_s, worker_entries(workers))
    assert found is None if words is None else words in (found or "")


def test_lines_tell_it(snapshot: Snapshot, hosts: list[HostView]) -> None:
    stream = io.StringIO()
    resting = msgspec.structs.replace(snapshot, resting_s=12.0)
    PlainLines(Outlet(stream)).tick(resting, hosts, [])
    assert "  waiting 12s: the store was restarted" in stream.getvalue()


def test_the_live_display_tells_it_before_the_messages(
    snapshot: Snapshot, hosts: list[HostView]
) -> None:
    stream = io.StringIO()
    resting = msgspec.structs.replace(snapshot, resting_s=12.0)
    console = Console(file=stream, width=100, height=60, force_terminal=False)
    console.print(Panel(resting, hosts, [], [Message("info", "a page is slow")]))
    shown = stream.getvalue()
    assert 0 < shown.index("waiting 12s: the store was restarted") < shown.index("a page is slow")


def test_finding_11_a_host_that_wants_to_be_left_alone_is_named(
    snapshot: Snapshot, hosts: list[HostView]
) -> None:
    stream = io.StringIO()
    idle = msgspec.structs.replace(snapshot, in_progress=0)
    resting = [msgspec.structs.replace(one, next_in_s=3000.0) for one in hosts]
    PlainLines(Outlet(stream)).tick(idle, resting, [])
    assert f"  waiting 50m 00s for {hosts[0].host}, which is to rest" in stream.getvalue()
    assert resting_words(snapshot, resting) is None, "there is something to do"
    assert resting_words(idle, [msgspec.structs.replace(hosts[0], next_in_s=1.0)]) is None
