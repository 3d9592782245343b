"""Files of seeds, read in batches by threads: a pipe may be silent for ever."""

import asyncio
import stat
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from gossamer.errors import UsageError
from gossamer.urls import SeedLine, parse_seed_line

T = TypeVar("T")

STANDARD_INPUT = "-"
LINES_AT_ONCE = 500
MAX_LINE_BYTES = 65_536


class NumberedLine(msgspec.Struct, frozen=True):
    """A line of a file that is not blank: its seed, or what is wrong with it."""

    number: int
    seed: SeedLine | None
    complaint: str = ""


class SeedSource:
    """Opens files of seeds; of pipes a temporary file is made if they are needed twice."""

    def __init__(self, *, twice: bool) -> None:
        self._twice = twice
        self._copies: dict[str, BinaryIO] = {}

    async def open(self, name: str) -> BinaryIO:
        """Open a file at its beginning."""
        check_seed_files([name])
        if not is_pipe(name):
            return _open(name)
        if not self._twice:
            return await in_thread(partial(_open, name))
        if name not in self._copies:
            self._copies[name] = await in_thread(lambda: _copied(_open(name)))
        self._copies[name].seek(0)
        return self._copies[name]


def is_pipe(name: str) -> bool:
    """Return whether a file can be read once only: standard input, a named pipe, `/dev/fd/63`."""
    if name == STANDARD_INPUT:
        return True
    with suppress(OSError, RuntimeError):
        mode = Path(name).expanduser().stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def check_seed_files(names: Iterable[str]) -> None:
    """Raise a `UsageError` if a file of seeds cannot be read.

    Pipes are not opened for it: who writes to one would be told that nobody reads it.
    """
    for name in names:
        if not is_pipe(name):
            _open(name).close()
        elif name == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
            what = "closed" if sys.stdin is None else "a terminal"
            raise UsageError(
                f"--seeds - reads seeds from standard input, which is {what}: pipe them in, as in "
                "'gossamer crawl --seeds - < seeds.txt'"
            )


async def batches(file: BinaryIO, number: int = 0) -> AsyncIterator[tuple[list[NumberedLine], int]]:
    """Yield the lines behind that number in batches, with the number of the last of each."""
    while True:
        lines, last = await in_thread(partial(read_batch, file, number))
        if last == number:
            return
        number = last
        yield lines, number


def read_batch(file: BinaryIO, number: int) -> tuple[list[NumberedLine], int]:
    """Read some lines behind that number; return them, and the number of the last.

    Blank lines and comments are only counted. At the end of the file the number stays.
    """
    found: list[NumberedLine] = []
    for _ in range(LINES_AT_ONCE):
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            break
        number += 1
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            _skip_line(file)
            found.append(NumberedLine(number, None, f"it has more than {MAX_LINE_BYTES:,} bytes"))
            continue
        try:
            seed = parse_seed_line(line)
        except UsageError as error:
            found.append(NumberedLine(number, None, str(error)))
        else:
            if seed is not None:
                found.append(NumberedLine(number, seed))
    return found, number


async def in_thread(work: Callable[[], T]) -> T:
    """Return what a function returns that may wait for a file.

    Nobody waits for its thread at the end, as for those of the loop's own executor.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def succeed(result: T) -> None:
        if not done.done():
            done.set_result(result)

    def fail(error: Exception) -> None:
        if not done.done():
            done.set_exception(error)

    def run() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 -- it is raised where it is awaited
                loop.call_soon_threadsafe(fail, error)
            else:
                loop.call_soon_threadsafe(succeed, result)

    threading.Thread(target=run, name="seeds", daemon=True).start()
    return await done


def source_name(name: str) -> str:
    """Return what people are told about a file."""
    return "standard input" if name == STANDARD_INPUT else name


def source_path(name: str) -> str:
    """Return where a file is, for who looks for it from another directory."""
    return name if name == STANDARD_INPUT else str(Path(name).expanduser().absolute())


def _open(name: str) -> BinaryIO:
    """Open a file, which may take until somebody writes to it if it is a named pipe."""
    if name == STANDARD_INPUT:  # not by sys.stdin: Python would wait for its reader at the end
        return open(0, "rb", closefd=False)
    try:
        return Path(name).expanduser().open("rb")
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read the seeds in {name}: {reason}") from error


def _skip_line(file: BinaryIO) -> None:
    while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def _copied(source: BinaryIO) -> BinaryIO:
    copy = tempfile.TemporaryFile()  # noqa: SIM115 -- it goes with its last reader
    while piece := source.read(1 << 20):
        copy.write(piece)
    return copy
