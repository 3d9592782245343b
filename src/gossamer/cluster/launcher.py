"""The launcher, as seen by whoever it works for: starts workers, and hears how they ended.

It is forked from a command that has done little yet, and loads beside it; or it is started by a
program that may have threads, which must not fork.
"""

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from gossamer.cluster.launcher_process import (
    COMMAND,
    KILL,
    START,
    WRITE,
    LauncherEvent,
    ProcessEnded,
    ProcessStarted,
    become_launcher,
)
from gossamer.errors import CrawlError

_DEAD: Final = (
    "the process that starts the workers has died: run the same command again, which continues"
)


class Launcher:
    """A launcher that works for this process; to be closed."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self._control = control
        self._pid = pid
        self._buffer = bytearray()
        self._starting: deque[asyncio.Future[int]] = deque()
        """Who waits for a process, in the order of the requests; also those who gave up."""
        self._ended: asyncio.Queue[ProcessEnded | None] = asyncio.Queue()
        self._is_attached = False

    @classmethod
    def fork(cls) -> "Launcher":
        """Fork it from this process, which must have no other thread.

        The libraries of macOS do not bear that: there it is a program of its own.
        """
        if sys.platform == "darwin":
            return cls.spawn()
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            become_launcher(theirs, ours)
        theirs.close()
        return cls(ours, pid)

    @classmethod
    def spawn(cls) -> "Launcher":
        """Start it as a program of its own; raise OSError if that fails."""
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-P", "-m", "gossamer.cluster.launcher_process", str(number)]
            try:
                process = subprocess.Popen(  # noqa: S603 -- our own program
                    command, pass_fds=[number], stdin=subprocess.DEVNULL
                )
            except OSError:
                ours.close()
                raise
        process.returncode = 0  # we wait for it ourselves
        return cls(ours, process.pid)

    async def start(self, lock: int | None = None) -> tuple[int, socket.socket]:
        """Start a worker; return its process id, and our end of its socket.

        The worker keeps the descriptor of a lock until it ends, whatever becomes of us.
        """
        return await self._start(START, () if lock is None else (lock,))

    async def start_writer(self) -> tuple[int, socket.socket]:
        """Start a process that writes outputs, as `start` does; its end is not told."""
        return await self._start(WRITE)

    async def _start(self, what: bytes, kept: Sequence[int] = ()) -> tuple[int, socket.socket]:
        self._attach()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                descriptors = [theirs.fileno(), *kept]
                socket.send_fds(self._control, [COMMAND.pack(what, 0)], descriptors)
            except OSError as error:
                ours.close()
                raise CrawlError(_DEAD) from error
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._starting.append(started)
        try:
            return await started, ours
        except BaseException:
            ours.close()  # nobody will talk to that worker, which ends it
            raise

    def kill(self, pid: int) -> None:
        """Kill a process, if it has not ended yet."""
        with suppress(OSError):
            self._control.send(COMMAND.pack(KILL, pid))

    async def next_end(self) -> ProcessEnded:
        """Wait for the next worker to end."""
        self._attach()
        ended = await self._ended.get()
        if ended is None:
            raise CrawlError(_DEAD)
        return ended

    async def close(self) -> None:
        """End it, with all workers that are left."""
        if self._is_attached:
            asyncio.get_running_loop().remove_reader(self._control)
            self._is_attached = False
        await asyncio.to_thread(self.let_go)

    def let_go(self) -> None:
        """End it, from outside the event loop; nothing happens if it has ended."""
        self._control.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _attach(self) -> None:
        if not self._is_attached:
            self._is_attached = True
            self._control.setblocking(False)
            asyncio.get_running_loop().add_reader(self._control, self._hear)

    def _hear(self) -> None:
        try:
            data = self._control.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._control)
            self._is_attached = False
            while self._starting:
                if not (waiting := self._starting.popleft()).done():
                    waiting.set_exception(CrawlError(_DEAD))
            self._ended.put_nowait(None)
            return
        self._buffer += data
        for line in _lines(self._buffer):
            event = msgspec.json.decode(line, type=LauncherEvent)
            if isinstance(event, ProcessStarted):
                if not (waiting := self._starting.popleft()).done():
                    waiting.set_result(event.pid)
            else:
                self._ended.put_nowait(event)


def _lines(buffer: bytearray) -> Iterator[bytes]:
    """Yield the complete lines in a buffer, and remove them from it."""
    while (end := buffer.find(b"\n")) >= 0:
        yield bytes(buffer[:end])
        del buffer[: end + 1]
