"""A worker's loop and the thread that reads large pages take short turns."""

import signal
import socket
import sys
from collections.abc import Coroutine

import pytest
import uvloop

from gossamer.coordinator.processes.worker_main import TURN_S, run_worker
from gossamer.download.address_slots import AddressLocks
from gossamer.worker.in_flight import CrashNote


@pytest.mark.req("D19")
def test_finding_11_the_loop_waits_for_short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[float] = []

    def run(work: Coroutine[object, object, int]) -> int:
        work.close()
        turns.append(sys.getswitchinterval())
        return 0

    monkeypatch.setattr(uvloop, "run", run)
    before, on_interrupt = sys.getswitchinterval(), signal.getsignal(signal.SIGINT)
    one, other = socket.socketpair()
    try:
        with one, other:
            assert run_worker(one, CrashNote(), AddressLocks(one.fileno())) == 0
    finally:
        sys.setswitchinterval(before)
        signal.signal(signal.SIGINT, on_interrupt)
    assert turns == [pytest.approx(TURN_S)]
