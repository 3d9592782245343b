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
from itertools import islice
from pathlib import Path
from typing import BinaryIO, ClassVar, TypeVar

import msgspec

from gossamer.coordinator.plan import SCOPE_NOTE, Plan, kinds_of_scope
from gossamer.frontier.contract import FrontierClient, Link
from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.stores.rows import decode_metadata
from gossamer.urls import Domains, SeedKeyCollector, SeedLine, parse_seed_line, scope_key
from gossamer.worker.link_filter import LinkFilter

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
    def words(self) -> str:
        """Return `1,000 seeds read from list.txt, 2 bad lines skipped`."""
        deep = f", {self.too_deep:,} of them deeper than --depth" if self.too_deep else ""
        seeds = f"{self.seeds:,} seed{'' if self.seeds == 1 else 's'}"
        bad = f", {self.bad:,} bad line{'' if self.bad == 1 else 's'} skipped" if self.bad else ""
        so_far = "" if self.is_done else f" so far, up to line {self.lines:,}"
        return f"{seeds} read from {source_name(self.name)}{so_far}{deep}{bad}"


class SeedProgress(msgspec.Struct, kw_only=True):
    """How far all of them were read."""

    NOTE: ClassVar[str] = "seeds"
    FIRST: ClassVar[int] = 10

    files: list[FileProgress]
    first: list[Url] = []
    """The first seeds, to say what went wrong if none could be fetched."""

    def add(self, seeds: Iterable[Url]) -> None:
        """Take in seeds that were read."""
        self.first = [*self.first, *islice(seeds, self.FIRST - len(self.first))]

    @property
    def is_begun(self) -> bool:
        """Whether anything was read."""
        return any(one.lines or one.is_done for one in self.files)

    @property
    def is_done(self) -> bool:
        """Whether all were read to the end."""
        return all(one.is_done for one in self.files)


async def read_progress(note: Callable[[str], Awaitable[bytes | None]]) -> SeedProgress | None:
    """Return how far the files of seeds were read; None: nothing was, or there are none."""
    packed = await note(SeedProgress.NOTE)
    return decode_metadata(packed, SeedProgress, "the note of the seeds in the store is")


BAD_LINES_SHOWN = 5
MAX_SCOPE_BYTES = 48_000_000
"""How much may be stored of the scope: it travels to each worker in one message."""
ASK_AGAIN_S = 0.02

Say = Callable[..., None]


class SeedFiles:
    """Reads the files of seeds of one crawl: `prepare` before it begins, then `add_all`."""

    def __init__(
        self, plan: Plan, store: FrontierClient, clock: Callable[[], float], say: Say
    ) -> None:
        self._plan = plan
        self._store = store
        self._clock = clock
        self._say = say
        self._names = plan.options.seed_files
        self._source = SeedSource(twice=bool(kinds_of_scope(plan.options)))
        self._link_filter = LinkFilter(plan.scope, plan.domain_of)
        self._bad = 0
        self._first_complaint = ""

    async def prepare(self) -> None:
        """Find out what is in scope, before the crawl begins; a `UsageError` if there is no seed.

        A crawl that goes on knows it.
        """
        if not self._names or (await self._progress()).is_begun:
            return
        check_seed_files(self._names)
        if kinds_of_scope(self._plan.options) and await self._store.metadata(SCOPE_NOTE) is None:
            await self._store.put_metadata(SCOPE_NOTE, await self._scope_keys())

    async def _scope_keys(self) -> bytes:
        kinds, domains, keys = kinds_of_scope(self._plan.options), Domains(), SeedKeyCollector()
        seeds = 0
        for name in self._names:
            async for lines, _ in batches(await self._source.open(name)):
                for line in lines:
                    self._remember(name, line)
                    if line.seed is not None:
                        for kind in kinds:
                            keys.add(scope_key(kind, line.seed.url, domains))
                        seeds += 1
        if not seeds:
            raise UsageError(self._no_seed())
        packed = keys.packed()
        if len(packed) > MAX_SCOPE_BYTES:
            raise UsageError(
                f"the seeds have {len(packed) // 8:,} hosts or directories, too many for the scope "
                f"{' and '.join(kinds)}: use --scope any, perhaps with --depth 0"
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
        for at, one in enumerate(progress.files):
            if not one.is_done:
                await self._add_file(progress, at, on_added)
        await self._store.set_seeds_pending(False)
        on_added()

    async def _progress(self) -> SeedProgress:
        return await read_progress(self._store.metadata) or self._unread()

    def _unread(self) -> SeedProgress:
        return SeedProgress(files=[FileProgress(name=name) for name in self._names])

    async def _add_file(
        self, progress: SeedProgress, at: int, on_added: Callable[[], None]
    ) -> None:
        before = progress.files[at]
        file, now = await self._open(before)
        path = source_path(now.path or now.name)
        async for lines, number in batches(file, now.lines):
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
            progress.add([one.url for some in links.values() for one in some])
            await self._save(progress, at, now)
            on_added()
        if not now.seeds and at == len(self._names) - 1 and not self._has_seed(progress):
            # The next time the files may be others: they are read from their beginning then.
            await self._save(self._unread(), at, FileProgress(name=now.name))
            raise UsageError(self._no_seed())
        now = msgspec.structs.replace(now, is_done=True)
        await self._save(progress, at, now)
        self._tell(now, before)

    def _has_seed(self, progress: SeedProgress) -> bool:
        return bool(self._plan.seeds) or any(one.seeds for one in progress.files)

    async def _open(self, before: FileProgress) -> tuple[BinaryIO, FileProgress]:
        """Open a file where it was left; a pipe begins again."""
        path, name = before.path or before.name, before.name
        file = await self._source.open(path)
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

    def _links(self, name: str, lines: Sequence[NumberedLine]) -> tuple[dict[int, list[Link]], int]:
        """Return the seeds of some lines by depth, and how many lines are bad."""
        links: defaultdict[int, list[Link]] = defaultdict(list)
        bad = 0
        for line in lines:
            complaint = line.complaint or self._refusal(line.seed)
            if complaint:
                bad += 1
                self._warn(f"{source_name(name)}, line {line.number}: {complaint}")
            elif line.seed is not None:
                link = self._link_filter.file(line.seed.url)
                if line.seed.score is not None:
                    link = msgspec.structs.replace(link, score=line.seed.score)
                links[line.seed.depth].append(link)
            self._remember(name, line)
        return links, bad

    def _too_deep(self, links: dict[int, list[Link]]) -> int:
        """Return how many seeds are not fetched, unless a shorter path to them is found."""
        hosts = ((depth, one.host) for depth, some in links.items() if depth for one in some)
        return sum(self._plan.is_too_deep(depth, host) for depth, host in hosts)

    def _refusal(self, seed: SeedLine | None) -> str:
        """Return why a seed is not crawled: an exclude pattern."""
        verdict = self._plan.refusal_of_seed(seed.url) if seed is not None else None
        return f"the seed is left out by {verdict}" if verdict else ""

    async def _add(self, links: dict[int, list[Link]]) -> None:
        while not await self._store.has_room():  # noqa: ASYNC110 -- there is no event
            await asyncio.sleep(ASK_AGAIN_S)
        for depth, some in links.items():
            await self._store.add_seeds(some, self._clock(), depth)

    async def _save(self, progress: SeedProgress, at: int, now: FileProgress) -> None:
        progress.files[at] = now
        await self._store.put_metadata(SeedProgress.NOTE, msgspec.json.encode(progress))

    def _warn(self, words: str) -> None:
        self._bad += 1
        if self._bad <= BAD_LINES_SHOWN:
            more = "; further ones are only counted" if self._bad == BAD_LINES_SHOWN else ""
            self._say("warning", f"{words}; the line is skipped{more}")

    def _remember(self, name: str, line: NumberedLine) -> None:
        if line.complaint and not self._first_complaint:
            where = f"{source_name(name)}, line {line.number}"
            self._first_complaint = f"; {where}: {line.complaint}"

    def _no_seed(self) -> str:
        names = ", ".join(map(source_name, self._names))
        return f"no line of {names} is a seed{self._first_complaint}"

    def _tell(self, now: FileProgress, before: FileProgress) -> None:
        name = source_name(now.name)
        if now.lines < before.lines:
            self._say(
                "warning",
                f"{name} was read up to line {before.lines:,} before and ends at line {now.lines:,}"
                " now: what followed is not part of the crawl; to add it, run the command again "
                "with the same input and --fresh",
            )
        self._say("info", now.words)
