"""Commits: what the steps of a frontier have changed is written together, all or nothing.

What they change is collected (`Pending`). A commit begins to write it, and while it waits for a
disk or a server further steps are taken, whose changes the next commit has. After a step that
failed in the middle nothing is written any more: the frontier is broken, and what was committed is
read again by another one.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from gossamer.model.errors import CrawlError
from gossamer.stores.rows import Changes, Rows

AWAY_CHECK_S = 0.05

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Commits")
Finish: TypeAlias = Callable[[Callable[[], None]], Awaitable[None]]


class Pending:
    """The changes that are collected for the next commit, and those of the commit under way.

    Whoever reads a row asks here first, and the database only then: it may or may not have the
    changes that are under way.
    """

    def __init__(self) -> None:
        self.now = Changes()
        """What is collected."""
        self.before: Changes | None = None
        """What is under way."""

    def __iter__(self) -> Iterator[Changes]:
        """Yield the changes that a reader has to know, the newest first."""
        yield self.now
        if self.before is not None:
            yield self.before

    def write(self, rows: Rows) -> Callable[[], None] | None:
        """Begin a commit of what was collected; return what makes it durable, if that can wait."""
        assert self.before is None, "one commit at a time"
        self.before, self.now = self.now, Changes()
        return rows.write(self.before)

    def end(self) -> Changes:
        """End the commit: what was under way is durable; return it."""
        changes, self.before = self.before, None
        assert changes is not None
        return changes


def atomic(
    step: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Make a method atomic: after one that failed, neither it nor any later one becomes durable.

    An error of the rows becomes a `CrawlError`, for this and every later step. While the server of
    the rows is away no step begins.
    """

    @functools.wraps(step)
    async def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.rows.is_lost():
            await self._await_rows()
        if self.broken is not None:
            raise self.broken
        try:
            return await step(self, *args, **kwargs)
        except BaseException as error:
            self._break_off(error)
            raise

    return guarded


async def in_thread(work: Callable[[], None]) -> None:
    """Do something in a thread; whoever is cancelled meanwhile waits for it all the same."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # nobody else asks for it
        raise


class Commits:
    """The durable part of a frontier, whose steps its subclass has."""

    def __init__(
        self,
        rows: Rows,
        *,
        write: Callable[[], Callable[[], None] | None],
        end_write: Callable[[], None],
        finish: Finish,
    ) -> None:
        """Prepare; `write` begins to write what was collected, and `end_write` ends that.

        `finish` carries out what makes changes durable, and may take long.
        """
        self.rows = rows
        self.broken: CrawlError | None = None
        """Why it cannot be used any more."""
        self._write = write
        self._end_write = end_write
        self._finish = finish
        self._uncommitted = asyncio.Lock()
        """Held while a page is settled of which a part must not become durable alone."""
        self._committing = asyncio.Lock()
        self._waiting_for_commit: list[Callable[[], None]] = []
        """Who is to be told when what is collected is durable."""
        self._wanted = asyncio.Event()
        self._away = asyncio.Lock()

    def when_durable(self, tell: Callable[[], None]) -> None:
        """Call something as soon as everything so far is durable."""
        self._waiting_for_commit.append(tell)
        self._wanted.set()

    async def commit_wanted(self) -> None:
        """Wait until somebody waits for a commit."""
        await self._wanted.wait()

    async def commit(self) -> None:
        """Make everything so far durable; wait for pages whose links are being added."""
        async with self._committing:
            async with self._uncommitted:
                finish = self._begin_write()
            waiting, self._waiting_for_commit = self._waiting_for_commit, []
            self._wanted.clear()
            try:
                if finish is not None:
                    await self._make_durable(finish, self._end_write)
            except asyncio.CancelledError:
                if self.broken is None:  # it is durable all the same
                    _tell(waiting)
                raise
            _tell(waiting)

    def _begin_write(self) -> Callable[[], None] | None:
        if self.broken is not None:
            raise self.broken
        try:
            return self._write()
        except BaseException as error:
            self._break_off(error)
            raise

    async def _make_durable(
        self, finish: Callable[[], None], then: Callable[[], None] | None = None
    ) -> None:
        is_durable = False

        def work() -> None:
            nonlocal is_durable
            finish()
            is_durable = True

        try:
            await self._finish(work)
        except BaseException as error:
            if not is_durable:  # else whoever waited for it was cancelled
                self._break_off(error)
            raise
        finally:
            if is_durable and then is not None:
                then()

    def _break_off(self, error: BaseException) -> None:
        """Write nothing any more after an error; one of the rows is raised as a `CrawlError`."""
        if isinstance(error, CrawlError):
            self.broken = self.broken or error
        elif isinstance(error, self.rows.errors):
            self.broken = self.broken or CrawlError(self.rows.describe_error(error))
            raise self.broken from error
        else:
            self.broken = self.broken or _cut_off(error)

    async def between_commits(self, work: Callable[[], None]) -> None:
        """Do something that may take long with the rows, while nothing is being written."""
        async with self._committing:
            await self._make_durable(work)

    async def _await_rows(self) -> None:
        """Wait for a server that is away, as everybody does; a CrawlError after a while.

        So no step waits for it in the middle, when nothing else could be done, not even be stopped.
        """
        async with self._away:
            while self.rows.is_lost():
                if self.broken is not None:
                    raise self.broken
                await asyncio.sleep(AWAY_CHECK_S)
                if not self._committing.locked():
                    await self.between_commits(self.rows.reconnect)

    def give_up(self) -> None:
        """Wait no more for a server that is away: whoever works with it quits."""
        self.rows.give_up()


def _cut_off(error: BaseException) -> CrawlError:
    """Return why a frontier cannot be used any more after an error that is not its own."""
    return CrawlError(
        f"the crawl was interrupted while it was writing ({type(error).__name__}): run the same "
        "command again, which continues from what was saved last"
    )


def _tell(waiting: list[Callable[[], None]]) -> None:
    for tell in waiting:
        tell()
