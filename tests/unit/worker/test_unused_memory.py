"""Memory that was freed and is not in use is given back to the system."""

import asyncio
import ctypes
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer.coordinator.processes import worker_main
from gossamer.worker.fetched_page import UNUSED_BYTES, UnusedMemory, give_back_memory

CHUNK = 2_000
CHUNKS = 50_000

LIBC = ctypes.CDLL(None)


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1000


@pytest.mark.skipif(not hasattr(LIBC, "malloc_trim"), reason="another C library")
def test_freed_memory_is_given_back() -> None:
    LIBC.malloc.restype, LIBC.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    chunks = [LIBC.malloc(CHUNK) for _ in range(CHUNKS)]
    for chunk in chunks:
        ctypes.memset(chunk, 1, CHUNK)
    last = chunks.pop()  # what is before one that stays is not given back by itself
    for chunk in chunks:
        LIBC.free(chunk)
    before = resident_mb()
    give_back_memory()
    LIBC.free(last)
    assert before - resident_mb() > 0.8 * CHUNK * CHUNKS / 1e6


def test_it_is_given_back_when_the_process_has_grown_since_the_last_time() -> None:
    watch = UnusedMemory()
    assert not watch.is_due(50_000_000), "this is what it needs to begin with"
    assert not watch.is_due(50_000_000 + UNUSED_BYTES)
    assert watch.is_due(50_000_001 + UNUSED_BYTES)
    watch.given_back(55_000_000)
    assert not watch.is_due(55_000_000 + UNUSED_BYTES), "what it did not give back is in use"
    assert not watch.is_due(40_000_000), "others gave memory back"
    assert watch.is_due(40_000_001 + UNUSED_BYTES)


def test_a_worker_looks_regularly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when no page is large enough to do it: all that is received and sent leaves memory."""
    held = [50_000_000, 90_000_000, 60_000_000, 60_000_000, 70_000_000, 55_000_000, 55_000_000]
    given: list[int] = []

    def resident() -> int:
        if not held:
            raise asyncio.CancelledError
        return held.pop(0)

    monkeypatch.setattr(worker_main, "MEMORY_EVERY_S", 0.0)
    monkeypatch.setattr(worker_main, "resident_bytes", resident)
    monkeypatch.setattr(worker_main, "give_back_memory", lambda: given.append(len(held)))
    with suppress(asyncio.CancelledError):
        asyncio.run(worker_main._give_back_regularly())
    assert given == [5, 2]
