"""Files of seeds: read while the crawl runs, as the URL queue has room for them.

How far they were read is stored with the crawl. So one that was killed goes on from there; a seed
that is added twice counts once.
"""

import asyncio
import stat
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from gossamer.coordinator.plan import SCOPE_NOTE, Plan, host_limits, kinds_of_scope
from gossamer.frontier.contract import FrontierClient, Link
from gossamer.frontier.hosts import depth_limit
from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.stores.rows import decode_metadata
from gossamer.urls import Domains
from gossamer.urls.scope import scope_key
from gossamer.urls.seeds import SeedKeyCollector, SeedLine, parse_seed_line
from gossamer.worker.link_filter import LinkFilter

T = TypeVar("T")

STANDARD_INPUT = "-"
SEEDS_NOTE = "seeds"
LINES_AT_ONCE = 500
MAX_LINE_BYTES = 65_536
MAX_SCOPE_BYTES = 48_000_000
"""How much may be stored of the scope: it travels to each worker in one message."""
FIRST_SEEDS = 10
BAD_LINES_SHOWN = 5
ASK_AGAIN_S = 0.02


class FileProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one file was read."""

    name: str
    """As it was given."""
    path: str = ""
    """Where it is, whatever the working directory; empty until something was read."""
    lines: int = 0
    offset: int = 0
    """Where the next line begins."""
    seeds: int = 0
    too_deep: int = 0
    """How many of the seeds have a greater depth than their host may have."""
    bad: int = 0
    """How many lines were skipped because they are wrong."""
    is_done: bool = False

    @property
    def sentence(self) -> str:
        """`1,000 seeds read from list.txt, 2 bad lines skipped`."""
        deep = f", {self.too_deep:,} of them deeper than --depth" if self.too_deep else ""
        seeds = f"{self.seeds:,} seed{'' if self.seeds == 1 else 's'}"
        bad = f", {self.bad:,} bad line{'' if self.bad == 1 else 's'} skipped" if self.bad else ""
        so_far = "" if self.is_done else f" so far, up to line {self.lines:,}"
        return f"{seeds} read from {_shown(self.name)}{so_far}{deep}{bad}"


class SeedProgress(msgspec.Struct, kw_only=True):
    """How far all files of seeds were read."""

    files: list[FileProgress]
    first: list[Url] = []
    """The first seeds, to say what went wrong if none could be fetched."""

    @property
    def is_done(self) -> bool:
        """Whether all were read to the end."""
        return all(file.is_done for file in self.files)


async def read_progress(note: Callable[[str], Awaitable[bytes | None]]) -> SeedProgress | None:
    """Return how far the files of seeds were read; None: nothing was, or there are none."""
    packed = await note(SEEDS_NOTE)
    return decode_metadata(packed, SeedProgress, "the note of the seeds in the store is")


class SeedFiles:
    """Reads the files of seeds of one crawl: `prepare` before it begins, then `add_all`."""

    def __init__(
        self,
        plan: Plan,
        store: FrontierClient,
        clock: Callable[[], float],
        say: Callable[..., None],
    ) -> None:
        self._plan = plan
        self._store = store
        self._clock = clock
        self._say = say
        self._names = plan.options.seed_files
        self._kinds = kinds_of_scope(plan.options)
        self._copies: dict[str, BinaryIO] = {}
        """Copies of pipes that are read twice: for the scope, and for the seeds."""
        self._link_filter = LinkFilter(plan.scope, plan.domain_of)
        self._host_limits = host_limits(plan.options)
        self._bad = 0
        self._first_complaint = ""

    async def prepare(self) -> None:
        """Find out what is in scope, before the crawl begins; a `UsageError` if there is no seed.

        A crawl that goes on knows it.
        """
        files = (await self._progress()).files
        if not files or any(file.lines or file.is_done for file in files):
            return
        check_seed_files(self._names)
        if self._kinds and await self._store.metadata(SCOPE_NOTE) is None:
            await self._store.put_metadata(SCOPE_NOTE, await self._scope_keys())

    async def _scope_keys(self) -> bytes:
        domains, keys, seeds = Domains(), SeedKeyCollector(), 0
        for name in self._names:
            async for lines, _ in _batches(await self._open(name)):
                for line in lines:
                    self._remember(name, line)
                    if line.seed is not None:
                        seeds += 1
                        for kind in self._kinds:
                            keys.add(scope_key(kind, line.seed.url, domains))
        if not seeds:
            raise self._no_seed()
        packed = keys.packed()
        if len(packed) > MAX_SCOPE_BYTES:
            raise UsageError(
                f"the seeds have {len(packed) // 8:,} hosts or directories, too many for the scope "
                f"{' and '.join(self._kinds)}: use --scope any, perhaps with --depth 0"
            )
        return packed

    async def begin(self) -> None:
        """Note whether seeds are to come, or all were read before."""
        if self._names:
            await self._store.set_seeds_pending(not (await self._progress()).is_done)

    async def add_all(self, on_added: Callable[[], None]) -> None:
        """Add the seeds that were not read yet."""
        progress = await self._progress()
        if progress.is_done:
            return
        for index, file in enumerate(progress.files):
            if not file.is_done:
                await self._add_file(progress, index, on_added)
        await self._store.set_seeds_pending(False)
        on_added()

    async def _progress(self) -> SeedProgress:
        return await read_progress(self._store.metadata) or self._unread()

    def _unread(self) -> SeedProgress:
        return SeedProgress(files=[FileProgress(name=name) for name in self._names])

    async def _add_file(
        self, progress: SeedProgress, index: int, on_added: Callable[[], None]
    ) -> None:
        before = progress.files[index]
        file, now = await self._open_again(before)
        path = _absolute(now.path or now.name)
        async for lines, number in _batches(file, now.lines):
            links, bad = self._links(now.name, lines)
            await self._add(links)
            now = FileProgress(
                name=now.name,
                path=path,
                lines=number,
                offset=0 if is_pipe(path) else file.tell(),
                seeds=now.seeds + sum(map(len, links.values())),
                too_deep=now.too_deep + self._too_deep(links),
                bad=now.bad + bad,
            )
            urls = [link.url for group in links.values() for link in group]
            progress.first += urls[: FIRST_SEEDS - len(progress.first)]
            await self._save(progress, index, now)
            on_added()
        is_last = index == len(self._names) - 1
        if is_last and not (self._plan.seeds or any(file.seeds for file in progress.files)):
            # The next time the files may be others: they are read from their beginning then.
            await self._save(self._unread(), index, FileProgress(name=now.name))
            raise self._no_seed()
        now = msgspec.structs.replace(now, is_done=True)
        await self._save(progress, index, now)
        if now.lines < before.lines:
            self._say(
                "warning",
                f"{_shown(now.name)} was read up to line {before.lines:,} before and ends at line "
                f"{now.lines:,} now: what followed is not part of the crawl; to add it, run the "
                "command again with the same input and --fresh",
            )
        self._say("info", now.sentence)

    async def _save(self, progress: SeedProgress, index: int, now: FileProgress) -> None:
        progress.files[index] = now
        await self._store.put_metadata(SEEDS_NOTE, msgspec.json.encode(progress))

    async def _open(self, name: str) -> BinaryIO:
        """Open a file at its beginning; of a pipe that is needed twice a temporary copy."""
        check_seed_files([name])
        if not is_pipe(name):
            return _opened(name)
        if not self._kinds:
            return await _in_thread(partial(_opened, name))
        if name not in self._copies:
            self._copies[name] = await _in_thread(lambda: _copied(_opened(name)))
        self._copies[name].seek(0)
        return self._copies[name]

    async def _open_again(self, before: FileProgress) -> tuple[BinaryIO, FileProgress]:
        """Open a file where it was left; a pipe begins again."""
        path, name = before.path or before.name, before.name
        file = await self._open(path)
        if not before.lines:
            return file, before
        if is_pipe(path) or not before.offset:  # it is one, or was
            return file, FileProgress(name=name)
        file.seek(before.offset - 1)
        last = file.read(1)
        if last != b"\n" and (not last or file.read(1)):  # it was shortened, or is another
            raise UsageError(
                f"{name} is not the file of which {before.lines:,} lines were read before: put "
                "that one back, or start over with --fresh"
            )
        return file, before

    def _links(
        self, name: str, lines: Sequence["NumberedLine"]
    ) -> tuple[dict[int, list[Link]], int]:
        """Return the seeds of some lines by depth, and how many lines are bad."""
        links: defaultdict[int, list[Link]] = defaultdict(list)
        bad = 0
        for line in lines:
            self._remember(name, line)
            complaint, seed = line.complaint, line.seed
            if seed is not None and (exclusion := self._plan.scope.exclusion(seed.url)):
                complaint = f"the seed is left out by {exclusion.explain(seed.url)}"
            if complaint:
                bad += 1
                self._warn(f"{_shown(name)}, line {line.number}: {complaint}")
            elif seed is not None:
                link = self._link_filter.file(seed.url)
                if seed.score is not None:
                    link = msgspec.structs.replace(link, score=seed.score)
                links[seed.depth].append(link)
        return links, bad

    def _too_deep(self, links: dict[int, list[Link]]) -> int:
        """Return how many seeds are not fetched, unless a shorter path to them is found."""
        limits = (
            (depth, depth_limit(link.host, self._host_limits, self._plan.options.depth))
            for depth, group in links.items()
            if depth
            for link in group
        )
        return sum(limit is not None and depth > limit for depth, limit in limits)

    async def _add(self, links: dict[int, list[Link]]) -> None:
        while not await self._store.has_room():  # noqa: ASYNC110 -- there is no event
            await asyncio.sleep(ASK_AGAIN_S)
        for depth, group in links.items():
            await self._store.add_seeds(group, self._clock(), depth)

    def _warn(self, complaint: str) -> None:
        self._bad += 1
        if self._bad <= BAD_LINES_SHOWN:
            more = "; further ones are only counted" if self._bad == BAD_LINES_SHOWN else ""
            self._say("warning", f"{complaint}; the line is skipped{more}")

    def _remember(self, name: str, line: "NumberedLine") -> None:
        if line.complaint and not self._first_complaint:
            self._first_complaint = f"; {_shown(name)}, line {line.number}: {line.complaint}"

    def _no_seed(self) -> UsageError:
        names = ", ".join(map(_shown, self._names))
        return UsageError(f"no line of {names} is a seed{self._first_complaint}")


# -- reading files and pipes ---------------------------------------------------------------------


class NumberedLine(msgspec.Struct, frozen=True):
    """A line of a file that is not blank: its seed, or what is wrong with it."""

    number: int
    seed: SeedLine | None
    complaint: str = ""


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
            _opened(name).close()
        elif name == STANDARD_INPUT and (sys.stdin is None or sys.stdin.isatty()):
            what = "closed" if sys.stdin is None else "a terminal"
            raise UsageError(
                f"--seeds - reads seeds from standard input, which is {what}: pipe them in, as in "
                "'gossamer crawl --seeds - < seeds.txt'"
            )


def _opened(name: str) -> BinaryIO:
    """Open a file, which may take until somebody writes to it if it is a named pipe."""
    if name == STANDARD_INPUT:  # not by sys.stdin: Python would wait for its reader at the end
        return open(0, "rb", closefd=False)
    try:
        return Path(name).expanduser().open("rb")
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read the seeds in {name}: {reason}") from error


def _copied(source: BinaryIO) -> BinaryIO:
    copy = tempfile.TemporaryFile()  # noqa: SIM115 -- it goes with its last reader
    while piece := source.read(1 << 20):
        copy.write(piece)
    return copy


async def _batches(
    file: BinaryIO, number: int = 0
) -> AsyncIterator[tuple[list[NumberedLine], int]]:
    """Yield the lines behind that number in batches, with the number of the last of each."""
    while True:
        lines, last = await _in_thread(partial(_read_batch, file, number))
        if last == number:
            return
        number = last
        yield lines, number


def _read_batch(file: BinaryIO, number: int) -> tuple[list[NumberedLine], int]:
    """Read some lines behind that number; return them, and the number of the last.

    Blank lines and comments are only counted. At the end of the file the number stays.
    """
    lines: list[NumberedLine] = []
    for _ in range(LINES_AT_ONCE):
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            break
        number += 1
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            lines.append(NumberedLine(number, None, f"it has more than {MAX_LINE_BYTES:,} bytes"))
            continue
        try:
            seed = parse_seed_line(line)
        except UsageError as error:
            lines.append(NumberedLine(number, None, str(error)))
        else:
            if seed is not None:
                lines.append(NumberedLine(number, seed))
    return lines, number


async def _in_thread(work: Callable[[], T]) -> T:
    """Return what a function returns that may wait for a file.

    Nobody waits for its thread at the end, as for those of the loop's own executor.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(result: T | None, error: Exception | None) -> None:
        if not done.done():
            done.set_exception(error) if error else done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 -- it is raised where it is awaited
            failure = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(finish, result, failure)

    threading.Thread(target=run, name="seeds", daemon=True).start()
    return await done


def _absolute(name: str) -> str:
    """Return where a file is, for who looks for it from another directory."""
    return name if name == STANDARD_INPUT else str(Path(name).expanduser().absolute())


def _shown(name: str) -> str:
    """Return what people are told about a file."""
    return "standard input" if name == STANDARD_INPUT else name
