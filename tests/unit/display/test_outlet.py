import errno
import io
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path
from typing import TextIO

import pytest

from gossamer.display import Outlet

CHILD = """
import sys
from pathlib import Path
from gossamer.display import Outlet
outlet = Outlet(sys.{stream})
sys.stdin.read()
for number in range(1000):
    outlet.line("x" * 100)
    outlet.write("held back")
Path(sys.argv[1]).write_text(type(outlet.failure).__name__)
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_went_away_does_not_end_the_crawl(stream: str, tmp_path: Path) -> None:
    written = tmp_path / "written"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD.format(stream=stream), str(written)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    gone: TextIO | None = getattr(child, stream)
    assert gone is not None
    gone.close()
    other = child.stderr if stream == "stdout" else child.stdout
    assert child.stdin is not None
    assert other is not None
    child.stdin.close()
    with other:
        complaints = other.read()
    # The interpreter itself ends with 120 when it cannot flush a standard stream.
    assert (child.wait(), complaints) == (0, "")
    assert written.read_text() == "BrokenPipeError"


def test_after_a_failure_nothing_is_written_and_it_is_remembered() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        outlet.line("heard")
        assert os.read(read_end, 100) == b"heard\n"
        os.close(read_end)
        outlet.line("not heard")
        first = outlet.failure
        assert isinstance(first, BrokenPipeError)
        outlet.line("not even tried")
        assert outlet.failure is first
        assert not outlet.ready()


def test_a_terminal_that_was_closed_is_no_reason_to_fail() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        os.close(master)
        outlet = Outlet(stream)
        outlet.line("x")
        assert isinstance(outlet.failure, OSError)
        assert outlet.failure.errno == errno.EIO


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_full_disk_is_no_reason_to_fail() -> None:
    with Path("/dev/full").open("w") as stream:
        outlet = Outlet(stream)
        outlet.line("x")
        assert isinstance(outlet.failure, OSError)
        assert outlet.failure.errno == errno.ENOSPC


def test_a_stream_that_does_not_wait_loses_text_and_goes_on() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        for _ in range(50):
            outlet.write("x" * 50)
            outlet.line("x" * 9000)
        assert outlet.failure is None
        os.set_blocking(read_end, False)
        while len(os.read(read_end, 65_536)) == 65_536:
            pass
        outlet.line("here again")
        assert os.read(read_end, 1_000_000).endswith(b"here again\n")
    os.close(read_end)


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_no_stream_and_a_closed_one_are_silent(stream: io.StringIO | None) -> None:
    if stream is not None:
        stream.close()
    outlet = Outlet(stream)
    outlet.line("x")
    outlet.flush()
    assert not outlet.isatty()
    assert not outlet.ready()


def test_a_character_that_the_stream_cannot_write_is_replaced() -> None:
    stored = io.BytesIO()
    outlet = Outlet(io.TextIOWrapper(stored, encoding="ascii"))
    outlet.line("Bücher…")
    assert stored.getvalue() == b"B?cher?\n"
    assert outlet.failure is None


def test_a_stopped_terminal_is_not_ready_until_it_goes_on() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w") as stream:
        outlet = Outlet(stream)
        assert outlet.ready()
        termios.tcflow(slave, termios.TCOOFF)
        assert not outlet.ready()
        termios.tcflow(slave, termios.TCOON)
        assert outlet.ready()
    os.close(master)


def test_a_pipe_that_nobody_reads_is_not_ready_when_it_is_full() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with os.fdopen(write_end, "w") as stream:
        outlet = Outlet(stream)
        assert outlet.ready()
        try:
            while os.write(write_end, b"x" * 4096):
                pass
        except BlockingIOError:
            pass
        assert not outlet.ready()
    os.close(read_end)
