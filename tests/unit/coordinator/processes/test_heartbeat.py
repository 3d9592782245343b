"""What a process tells of itself."""

import mmap
import os
import socket
import time

from gossamer.coordinator.processes.worker_main import Heartbeat


def test_it_says_who_it_is() -> None:
    report = Heartbeat().report()
    assert (report.pid, report.machine) == (os.getpid(), socket.gethostname())


def test_its_memory_is_that_of_now() -> None:
    signs = Heartbeat()
    before = signs.report().memory
    block = mmap.mmap(-1, 64_000_000)  # not out of memory that the process has freed before
    for place in range(0, len(block), mmap.PAGESIZE):
        block[place] = 1
    during = signs.report().memory
    block.close()
    assert during - before > 50_000_000
    assert signs.report().memory < during - 50_000_000


def test_busy_counts_from_one_report_to_the_next() -> None:
    signs = Heartbeat()
    until = time.process_time() + 0.1
    begun = time.monotonic()
    while time.process_time() < until:
        pass
    share = 0.1 / (time.monotonic() - begun)  # others may use the machine
    assert share / 2 < signs.report().busy <= 1.0
    time.sleep(1.0)  # doing nothing; on a busy machine to wake up takes a while, which counts
    assert signs.report().busy < 0.15
