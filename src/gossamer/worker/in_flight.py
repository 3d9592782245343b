"""What a worker has in flight: the leases of its tasks, and the pages that may crash it.

What reads a page runs code that its author can reach: parsers in C, and users' modules. If the
process dies there, or stands still, the crash note says which pages were in flight. It is in memory
that the process shares with the one that started it, so it outlasts any end.

A page that was in flight when a worker died may be innocent. So it is a suspect from then on, and a
suspect is read alone: if that worker dies as well, it was this page.

A host belongs to one worker at a time, for the time of a lease. A worker that cannot renew it in
time, or learns that the frontier does not know it, must be silent before another worker may get the
host: its requests to the host are cut off.
"""

import asyncio
import mmap
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Self, TypeVar

from gossamer.frontier.contract import FrontierClient, Task
from gossamer.policy.size_limits import Allowance

T = TypeVar("T")

NOBODY: Final = -1
"""In place of an id, which is never negative."""
ENTRIES: Final = 1024
"""The note's length. Hardly any worker has more pages in flight; those beyond are not noted."""
NEVER: Final = float("-inf")
MOST_SETTLING: Final = 128
"""How many settlements that are not answered yet take no slot."""
MOST_SETTLING_BYTES: Final = 16_000_000
"""How many bytes their pages have together at most: what was read of a page stays until then."""


class CrashNote:
    """The URLs whose pages a worker has in flight, and what it has received for its tasks."""

    def __init__(self) -> None:
        memory = mmap.mmap(-1, 8 * (ENTRIES + 1))  # shared with forked processes
        self._numbers = memoryview(memory).cast("q")
        """The entries, then the bytes received."""
        self._free = list(range(ENTRIES))
        for entry in self._free:
            self._numbers[entry] = NOBODY

    def suspects(self) -> list[int]:
        """Return the URLs that are noted, also those of a process that has died."""
        return [url_id for url_id in self._numbers[:ENTRIES] if url_id != NOBODY]

    @property
    def received(self) -> int:
        """How many bytes were received for tasks that are not settled."""
        return self._numbers[ENTRIES]

    def add_received(self, size: int) -> None:
        """Note that bytes were received; a negative size: the frontier knows of them."""
        self._numbers[ENTRIES] += size

    def enter(self, url_id: int) -> int | None:
        """Note a URL; return the entry to cross out."""
        if not self._free:
            return None
        entry = self._free.pop()
        self._numbers[entry] = url_id
        return entry

    def cross_out(self, entry: int | None) -> None:
        """Cross out an entry: its page is done with."""
        if entry is not None:
            self._numbers[entry] = NOBODY
            self._free.append(entry)


class InFlightPages:
    """The pages that are read and shown to modules just now: many at a time, or one suspect."""

    def __init__(self, note: CrashNote | None = None) -> None:
        self.note = note or CrashNote()
        self._count = 0
        self._suspect = asyncio.Lock()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def hold(self, url_id: int, *, alone: bool) -> "InFlightPage":
        """Have a page in flight, and no other beside it if it is to be alone."""
        return InFlightPage(self, url_id, alone=alone)

    async def begin(self, *, alone: bool) -> None:
        """Wait until another page may be in flight, or a suspect that is to be alone."""
        if not alone:
            while self._suspect.locked():
                async with self._suspect:
                    pass
            self._count += 1
            self._is_empty.clear()
            return
        await self._suspect.acquire()
        try:
            await self._is_empty.wait()
        except BaseException:
            self._suspect.release()
            raise

    def end(self, *, alone: bool) -> None:
        """Be done with a page."""
        if alone:
            self._suspect.release()
            return
        self._count -= 1
        if not self._count:
            self._is_empty.set()


class InFlightPage:
    """One page in flight, in an `async with` statement.

    What runs out of memory stays noted: the process is at its end.
    """

    def __init__(self, pages: InFlightPages, url_id: int, *, alone: bool) -> None:
        self._pages = pages
        self._url_id = url_id
        self._alone = alone
        self._entry: int | None = None
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._pages.begin(alone=self._alone)
        self._entry = self._pages.note.enter(self._url_id)
        self._is_held = True
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.leave(keep_note=kind is not None and issubclass(kind, MemoryError))

    def leave(self, *, keep_note: bool = False) -> None:
        """Be done with the page, if that is not said already."""
        if not self._is_held:
            return
        self._is_held = False
        if not keep_note:
            self._pages.note.cross_out(self._entry)
        self._pages.end(alone=self._alone)


class UnansweredSettlements:
    """The settlements of a worker that are not answered yet: up to a bound they take no slot.

    Answers wait for a commit. If pages that wait had a slot each, hosts would not be asked
    meanwhile; if none had, a worker whose frontier is slow would have any number of them in memory.
    """

    def __init__(self) -> None:
        self.without_slot = 0
        """How many take none."""
        self._bytes = 0

    def begin(self, size: int) -> bool:
        """Return whether the settlement of a page of this size takes no slot; then `end` it."""
        if self.without_slot >= MOST_SETTLING or self._bytes + size > MOST_SETTLING_BYTES:
            return False
        self.without_slot += 1
        self._bytes += size
        return True

    def end(self, size: int) -> None:
        """Note that one that took no slot is answered."""
        self.without_slot -= 1
        self._bytes -= size


class LeaseLostError(Exception):
    """The lease is lost: another worker may be asking the host by now."""


class LeaseGuard:
    """The guard of one task: until when its host may be asked, and how much may be received."""

    def __init__(
        self,
        task: Task,
        until: float,
        clock: Callable[[], float],
        on_received: Callable[[int], None] | None = None,
    ) -> None:
        self.task = task
        self.allowance = Allowance(
            task.max_bytes, is_last=task.is_last_of_budget, on_received=on_received
        )
        self.is_delivering = False
        """Whether its page is at the modules, or beyond."""
        self.is_settling = False
        """Whether the frontier has been told what came of it, and has not answered yet."""
        self.unanswered: UnansweredSettlements | None = None
        """Tells whether that takes a slot of its worker."""
        self.on_settling: Callable[[], None] | None = None
        """Wants to know when that begins."""
        self._without_slot: int | None = None
        """The size of its page, if it takes none."""
        self.page: InFlightPage | None = None
        self._until = until
        self._clock = clock
        self._request: asyncio.Timeout | None = None

    def extend(self, until: float) -> None:
        """Hold the lease until then; the frontier has renewed it."""
        self._until = until
        if self._request is not None and not self._request.expired():
            self._request.reschedule(self._deadline())

    def lose(self) -> None:
        """Cut off the request that is running; there may be no other."""
        self.extend(NEVER)

    def begin_settling(self, size: int, *, is_over: bool = True) -> None:
        """Note that the frontier is told what came of it: its page is in flight no more.

        The answer comes when that is durable; meanwhile others may be worked on.
        """
        self.is_settling = True
        slots = self.unanswered if self._without_slot is None else None
        if slots is not None and slots.begin(size):
            self._without_slot = size
        if is_over and self.page is not None:
            self.page.leave()
        if self.on_settling is not None:
            self.on_settling()

    def end_settling(self) -> None:
        """Note that it was answered, or will not be."""
        self.is_settling = False
        if self.unanswered is not None and self._without_slot is not None:
            self.unanswered.end(self._without_slot)
            self._without_slot = None

    async def during(self, request: Callable[[], Awaitable[T]]) -> T:
        """Return what came of requests to the host; a `LeaseLostError` if they were cut off."""
        if self._until <= self._clock():
            raise LeaseLostError
        limit = self._request = asyncio.timeout_at(self._deadline())
        try:
            async with limit:
                return await request()
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise LeaseLostError from error
        finally:
            self._request = None

    def _deadline(self) -> float:
        """Return when it ends, by the clock of the event loop."""
        return asyncio.get_running_loop().time() + self._until - self._clock()


async def still_held(
    store: FrontierClient,
    tasks: Sequence[Task],
    asked_at: float,
    clock: Callable[[], float],
    lease_s: float,
) -> Sequence[Task]:
    """Return the tasks whose leases are still ours, which the frontier said at `asked_at`.

    The process may have stood still since, and others may work on the tasks by now: then asking
    their hosts, or showing the modules a page under a number that is theirs, would be wrong.
    """
    while tasks and clock() - asked_at >= lease_s / 2:
        asked_at = clock()
        lost = await store.renew(tasks, asked_at)
        tasks = [task for task in tasks if task not in lost]
    return tasks
