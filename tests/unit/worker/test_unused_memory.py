"""Memory that was freed and is not in use is given back to the system."""

import ctypes
from pathlib import Path

import pytest

from gossamer.worker.unused_memory import give_back_memory

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
