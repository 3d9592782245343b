"""One output that follows the log of results: where it stands, and how it goes on after a crash."""

import errno
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import xxhash

from gossamer.model import Page, Url
from gossamer.model.errors import CrawlError
from gossamer.outputs.contract import Holds, Output, OutputReport, OutputSpec, PositionLostError
from gossamer.outputs.registry import kind_of_output, make_output
from gossamer.stores.files import MARKS, write_file
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import Result

MARKS_KEPT = 60
LOCKED_FOR_S = 5.0
"""How long another process may need to let go of an output: one whose coordinator was killed."""
FOLDER = "outputs"
"""In the folder of the crawl's marks."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A position of an output, and the last result that is in it."""

    number: int
    url_id: int
    settled_at: float
    position: bytes

    def is_of(self, result: Result) -> bool:
        """Tell whether the result is the one that was written."""
        mine = self.number, self.url_id, self.settled_at
        return mine == (result.number, result.url_id, result.settled_at)


class Stamp(msgspec.Struct, frozen=True):
    """By which a finished file is recognised."""

    size: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "Stamp | None":
        """Return that of a file; None: it is not there, or it is a directory."""
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        return None if path.is_dir() else cls(status.st_size, status.st_mtime_ns)


class OutputState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an output."""

    target: str
    holds: Holds = "pages"
    fields: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    """The newest first."""
    is_placed: bool = False
    """Whether what has its name is this output, or may be."""
    stamp: Stamp | None = None
    """That of the file when it was finished; None: it goes on, or is a directory."""

    @property
    def written(self) -> int:
        """The number of the last result that is in it for good."""
        return self.marks[0].number if self.marks else 0


def read_state(folder: Path, key: str) -> OutputState | None:
    """Return the state of an output; None if the crawl has not begun it."""
    file = folder / f"{key}.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=OutputState)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise CrawlError(
            f"{file}, which tells how far an output is, cannot be read ({error}): remove it and "
            "move the output away, and it is written again"
        ) from error


def read_states(folder: Path) -> list[OutputState]:
    """Return what is known of each output of a crawl, by their names."""
    files = sorted(folder.glob(f"*-{'[0-9a-f]' * 8}.json"))
    states = [read_state(folder, file.stem) for file in files]
    return [state for state in states if state is not None]


def state_folder(directory: Path) -> Path:
    """Return where the states of the outputs of a crawl are, in its directory."""
    return directory / MARKS / FOLDER


def key_of(target: str) -> str:
    """Return what the files of an output are called in the folder of states."""
    return f"{Path(target).name[:60]}-{xxhash.xxh3_64_hexdigest(target.encode())[:8]}"


class OutputLock:
    """The lock of one output, among the states of the outputs; it ends with its process."""

    def __init__(self, spec: OutputSpec) -> None:
        self._spec = spec
        self._file: int | None = None

    def take(self) -> None:
        """Be the only one that writes it; who was killed a moment ago may still be there."""
        path = self._spec.folder / f"{self._spec.key}.lock"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        give_up_at = time.monotonic() + LOCKED_FOR_S
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= give_up_at:
                    raise CrawlError(
                        f"another process is writing {self._spec.target}: wait for its end, or "
                        "name another output"
                    ) from error
                time.sleep(0.05)
            else:
                return

    def let_go(self) -> None:
        """Let others write it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class ResumableOutput:
    """One output, with its state."""

    def __init__(self, spec: OutputSpec, start: int = 0) -> None:
        """Prepare; it begins after the result `start` if it is new."""
        self._spec = spec
        self._start = start
        self._may_switch = kind_of_output(spec.target).is_table and not spec.is_of_pages
        self._output: Output | None = None
        self._state = OutputState(target=spec.target, fields=spec.fields)
        self._last: Result | None = None
        """The last result that was handed over and has no mark."""
        self._lock = OutputLock(spec)
        self.number = start
        """The number of the last result that was handed over."""

    @property
    def flushed(self) -> int:
        """The number of the last result that no crash takes away."""
        return self._state.written or self._start

    @property
    def follows_depths(self) -> bool:
        """Whether it shows the depths of pages."""
        return self._made.follows_depths

    @property
    def takes_aliases(self) -> bool:
        """Whether it has a use for the aliases of pages."""
        return self._made.add_alias is not None

    @property
    def _made(self) -> Output:
        assert self._output is not None
        return self._output

    def lock(self) -> None:
        """Be the only one that writes it: before the log is opened.

        Who had it until now may have written results that a log opened before does not show.
        """
        with self._explained():
            self._lock.take()

    async def open(self, reader: CrawlReader) -> None:
        """Open it at the newest position whose result is still in the log; again if that failed."""
        with self._explained():
            if self._output is not None:
                self._output.close()
            state = read_state(self._spec.folder, self._spec.key) or self._state
            if self._may_switch and state.holds == "records":
                self._spec = msgspec.structs.replace(self._spec, holds="records")
            holds, fields = self._spec.holds, self._spec.fields
            if (state.holds, state.fields) != (holds, fields):  # other rows were written
                state = msgspec.structs.replace(state, holds=holds, fields=fields, marks=())
            # From now on the file of that name may be ours, and on its way to become another.
            self._state = state
            self._change_state(stamp=None)
            self._output = make_output(self._spec)
            await self._rewind(reader)

    async def _rewind(self, reader: CrawlReader) -> None:
        self._last, marks = None, self._state.marks
        for number, mark in enumerate(marks):
            if await is_in_log(reader, mark):
                with suppress(PositionLostError):
                    self._made.rewind(mark.position)
                    self._state = msgspec.structs.replace(self._state, marks=marks[number:])
                    self.number = mark.number
                    return
        self._start_over()
        self.number = self._start

    def _start_over(self) -> None:
        self._change_state(marks=())
        self._made.rewind(None)

    async def check(self, reader: CrawlReader) -> None:
        """Go back if a server has lost results that were written already."""
        marks = self._state.marks
        if marks and not await is_in_log(reader, marks[0]):
            with self._explained():
                await self._rewind(reader)

    def wants_page(self, result: Result) -> bool:
        """Tell whether it needs the page of a result."""
        return not self._switches_at(result) and self._made.wants_page(result)

    def _switches_at(self, result: Result) -> bool:
        is_first = result.records is not None and self._spec.holds == "pages"
        return self._may_switch and is_first

    def take(self, result: Result, page: Page | None) -> None:
        """Take the next result.

        With the first record, even one that was refused, a table of pages becomes one of records:
        no result before had any.
        """
        with self._explained():
            if self._switches_at(result):
                self._made.close()
                self._spec = msgspec.structs.replace(self._spec, holds="records")
                self._state = msgspec.structs.replace(self._state, holds="records")
                self._output = make_output(self._spec)
                self._start_over()
            self._made.write(result, page)
        self._last, self.number = result, result.number

    def skip(self, result: Result) -> None:
        """Pass over a result whose page is not there any more; its row and its records are."""
        if self.wants_page(result):
            self._last, self.number = result, result.number
        else:
            self.take(result, None)

    def flush(self) -> None:
        """Make durable what was taken, and note where that ends."""
        if self._last is not None:
            with self._explained():
                self._mark(self._last)
                self._change_state()

    def _mark(self, last: Result) -> None:
        mark = Mark(
            number=last.number,
            url_id=last.url_id,
            settled_at=last.settled_at,
            position=self._made.flush(),
        )
        marks = (mark, *self._state.marks[: MARKS_KEPT - 1])
        self._state = msgspec.structs.replace(self._state, marks=marks)
        self._last = None

    def _change_state(self, **changes: object) -> None:
        """Change the state, and store it; this outlasts a loss of power."""
        self._state = msgspec.structs.replace(self._state, **changes)
        content = msgspec.json.encode(self._state)
        write_file(str(self._spec.folder), f"{self._spec.key}.json", [content], durable=True)

    def add_alias(self, url: Url, page_id: int) -> None:
        """Take a URL that leads to a page of another one, before it is finished."""
        assert self._made.add_alias is not None
        with self._explained():
            self._made.add_alias(url, page_id)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Complete it, and let go of it."""
        with self._explained():
            if self._last is not None:
                self._mark(self._last)
            self._change_state(is_placed=True)
            report = self._made.finish(depths)
            self._change_state(stamp=Stamp.of(self._spec.path))
        self.close()
        return report

    def discard(self) -> None:
        """Remove what is written of it, which is not finished."""
        if self._output is not None:
            with suppress(OSError, PositionLostError):
                self._output.rewind(None)  # an archive may have several files
        self.close()
        part = self._spec.part
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave it as it is."""
        if self._output is not None:
            self._output.close()
        self._lock.let_go()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            advice = "make room" if error.errno in {errno.ENOSPC, errno.EDQUOT} else "fix this"
            raise CrawlError(
                f"cannot write the output {self._spec.target}: {error.strerror or error}; {advice} "
                "and run the same command again, which goes on with it"
            ) from error


async def is_in_log(reader: CrawlReader, mark: Mark) -> bool:
    """Tell whether the result of a mark is still the one that was written."""
    results = await reader.results(mark.number - 1, 1)
    return bool(results) and mark.is_of(results[0])
