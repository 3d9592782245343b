"""The note by which others know on which pages a worker died, and what it had received.

What reads a page runs code that its author can reach: parsers in C, and users' modules. If the
process dies there, or stands still, the note says which pages were in hand. It is in memory that
the process shares with the one that started it, so it outlasts any end.

A page that was in hand when a worker died may be innocent. So it is a suspect from then on, and a
suspect is read alone: if that worker dies as well, it was this page.
"""

import asyncio
import mmap
import struct
from typing import Final, Self

_ENTRY: Final = struct.Struct("=q")
_RECEIVED: Final = struct.Struct("=q")
NOBODY: Final = -1
"""In place of an id, which is never negative."""
ENTRIES: Final = 1024
"""The note's length. Hardly any worker has more pages in hand; those beyond are not noted."""


class CrashNote:
    """The URLs whose pages a worker has in hand, and what it has received for its tasks."""

    def __init__(self) -> None:
        size = ENTRIES * _ENTRY.size + _RECEIVED.size
        self._memory = mmap.mmap(-1, size)  # shared with forked processes
        self._free = list(range(ENTRIES))
        for entry in self._free:
            self._write(entry, NOBODY)

    def suspects(self) -> list[int]:
        """Return the URLs that are noted, also those of a process that has died."""
        found = (_ENTRY.unpack_from(self._memory, n * _ENTRY.size)[0] for n in range(ENTRIES))
        return [url_id for url_id in found if url_id != NOBODY]

    @property
    def received(self) -> int:
        """How many bytes were received for tasks that are not settled."""
        return int(_RECEIVED.unpack_from(self._memory, ENTRIES * _ENTRY.size)[0])

    def add_received(self, size: int) -> None:
        """Note that bytes were received, or with a negative number that the store knows of them."""
        _RECEIVED.pack_into(self._memory, ENTRIES * _ENTRY.size, self.received + size)

    def enter(self, url_id: int) -> int | None:
        """Note a URL; return the entry to cross out."""
        if not self._free:
            return None
        entry = self._free.pop()
        self._write(entry, url_id)
        return entry

    def cross_out(self, entry: int | None) -> None:
        """Cross out an entry: its page is done with."""
        if entry is not None:
            self._write(entry, NOBODY)
            self._free.append(entry)

    def _write(self, entry: int, url_id: int) -> None:
        _ENTRY.pack_into(self._memory, entry * _ENTRY.size, url_id)


class InFlightPages:
    """The pages that are being read, and shown to modules: many at a time, or one suspect."""

    def __init__(self, note: CrashNote | None = None) -> None:
        self.note = note or CrashNote()
        self._count = 0
        self._suspect = asyncio.Lock()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def hold(self, url_id: int, *, alone: bool) -> "InFlightPage":
        """Have a page in hand, and nobody else's beside it if it is to be alone."""
        return InFlightPage(self, url_id, alone=alone)

    async def enter(self, url_id: int, *, alone: bool) -> int | None:
        """Wait until the page may be in hand; return its entry in the note."""
        if alone:
            await self._suspect.acquire()
            try:
                await self._is_empty.wait()
            except BaseException:
                self._suspect.release()
                raise
        else:
            while self._suspect.locked():
                async with self._suspect:
                    pass
            self._count += 1
            self._is_empty.clear()
        return self.note.enter(url_id)

    def leave(self, entry: int | None, *, alone: bool, keep_note: bool) -> None:
        """Be done with a page."""
        if not keep_note:
            self.note.cross_out(entry)
        if alone:
            self._suspect.release()
            return
        self._count -= 1
        if not self._count:
            self._is_empty.set()


class InFlightPage:
    """One page in hand, in an `async with` statement.

    What runs out of memory stays noted: the process is at its end.
    """

    def __init__(self, pages: InFlightPages, url_id: int, *, alone: bool) -> None:
        self._pages = pages
        self._url_id = url_id
        self._alone = alone
        self._entry: int | None = None
        self._is_held = False

    async def __aenter__(self) -> Self:
        self._entry = await self._pages.enter(self._url_id, alone=self._alone)
        self._is_held = True
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.leave(keep_note=kind is not None and issubclass(kind, MemoryError))

    def leave(self, *, keep_note: bool = False) -> None:
        """Be done with the page, if that is not said already."""
        if self._is_held:
            self._is_held = False
            self._pages.leave(self._entry, alone=self._alone, keep_note=keep_note)
