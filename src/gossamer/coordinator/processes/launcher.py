"""The launcher, as seen by whoever it works for: starts workers, and hears how they ended.

It is forked from a command that has done little yet, and loads beside it; or it is started by a
program that may have threads, which must not fork. One that dies is replaced in the second way,
when everybody whom it had started is gone: they are ended, and told of as any that end.
"""

import asyncio
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from gossamer.coordinator.processes import launcher_process
from gossamer.coordinator.processes.launcher_process import (
    COMMAND,
    KILL,
    START,
    WRITE,
    LauncherEvent,
    ProcessEnded,
    ProcessStarted,
    become_launcher,
)
from gossamer.model.errors import CrawlError

MOST_DEATHS: Final = 5
"""How often launchers may die in `DEATHS_WITHIN_S`; the last time it is not replaced."""
DEATHS_WITHIN_S: Final = 60.0
ENDED_WITHIN_S: Final = 30.0
"""How long processes that were killed may take to end: they may wait for a disk."""
CHECK_EVERY_S: Final = 0.005
_KEEPS_DYING: Final = (
    "the process that starts the workers keeps dying: run the same command again, which continues"
)
_CANNOT_BE_ENDED: Final = (
    "the process that starts the workers has died, and not all that it has started could be ended: "
    "wait until they have, and run the same command again, which continues"
)


class _LauncherDiedError(Exception):
    """The launcher has died before it has done what it was asked for; there will be another."""


class Launcher:
    """A launcher that works for this process, and those that replace it; to be closed."""

    def __init__(self, control: socket.socket, pid: int) -> None:
        self.say: Callable[[str], None] = lambda _: None
        """Is told when a launcher was replaced, for people."""
        self._control = control
        self._pid = pid
        self._buffer = b""
        self._starting: deque[tuple[bool, asyncio.Future[int]]] = deque()
        """The processes that were asked for: whether each is a worker, and the future of its id."""
        self._processes: dict[int, LaunchedProcess] = {}
        """The processes that have started and not ended, by id."""
        self._orphaned: set[int] = set()
        self._ended: asyncio.Queue[ProcessEnded | None] = asyncio.Queue()
        """The workers that have ended; None at the end: there will be no more."""
        self._is_attached = False
        self._is_dead = False
        self._deaths: deque[float] = deque(maxlen=MOST_DEATHS)
        self._replacing: asyncio.Task[None] | None = None
        self._failure = CrawlError(_KEEPS_DYING)
        """Why one that is dead is not replaced."""

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
        return cls(*_spawn())

    async def start(self, lock: int | None = None) -> tuple[int, socket.socket]:
        """Start a worker; return its process id, and our end of its socket.

        The worker keeps the descriptor of a lock until it ends, whatever becomes of us.
        """
        return await self._start(START, [] if lock is None else [lock])

    async def start_writer(self) -> tuple[int, socket.socket]:
        """Start a process that writes outputs, as `start` does; its end is not told."""
        return await self._start(WRITE, [])

    async def _start(self, what: bytes, locks: Sequence[int]) -> tuple[int, socket.socket]:
        while True:
            self._attach()
            if self._replacing is not None:
                await asyncio.wait([self._replacing])
            if self._is_dead:
                raise self._failure
            with suppress(_LauncherDiedError):
                return await self._ask_for(what, locks)

    async def _ask_for(self, what: bytes, locks: Sequence[int]) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                message, descriptors = COMMAND.pack(what, 0), [theirs.fileno(), *locks]
                socket.send_fds(self._control, [message], descriptors)
            except ConnectionError as error:
                ours.close()
                self._note_death()
                raise _LauncherDiedError from error
            except OSError as error:
                ours.close()
                raise CrawlError(
                    f"the process that starts the workers cannot be reached: {error}"
                ) from error
        started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._starting.append((what == START, started))
        try:
            return await started, ours
        except BaseException:
            ours.close()  # nobody will talk to that process, which ends it
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
            self._ended.put_nowait(None)
            raise self._failure
        return ended

    def more_ends(self) -> list[ProcessEnded]:
        """Return the workers that have ended besides, as far as we have heard."""
        ends: list[ProcessEnded] = []
        while not self._ended.empty():
            ended = self._ended.get_nowait()
            if ended is None:
                self._ended.put_nowait(None)
                break
            ends.append(ended)
        return ends

    def has_orphaned(self, pid: int) -> bool:
        """Tell whether a process was ended because its launcher had died."""
        return pid in self._orphaned

    async def close(self) -> None:
        """End it, with all processes that are left."""
        self._detach()
        if self._replacing is not None:
            self._replacing.cancel()
            await asyncio.wait([self._replacing])
        await asyncio.to_thread(self.let_go)

    def let_go(self) -> None:
        """End it, from outside the event loop; nothing happens if it has ended."""
        self._control.close()
        if not _collect(self._pid) or self._is_dead:  # it has left the others behind
            give_up_at = time.monotonic() + ENDED_WITHIN_S
            for process in self._processes.values():
                process.kill()
            while self._are_there() and time.monotonic() < give_up_at:
                time.sleep(CHECK_EVERY_S)
        for process in self._processes.values():
            process.close()
        self._processes.clear()

    # -- what it tells ---------------------------------------------------------------------------

    def _attach(self) -> None:
        if not self._is_attached and not self._is_dead:
            self._is_attached = True
            self._control.setblocking(False)
            asyncio.get_running_loop().add_reader(self._control, self._hear)

    def _detach(self) -> None:
        if self._is_attached:
            asyncio.get_running_loop().remove_reader(self._control)
            self._is_attached = False

    def _hear(self) -> None:
        try:
            data = self._control.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._note_death()
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            event = msgspec.json.decode(line, type=LauncherEvent)
            if isinstance(event, ProcessStarted):
                is_worker, waiting = self._starting.popleft()
                self._processes[event.pid] = LaunchedProcess(event.pid, is_worker=is_worker)
                if not waiting.done():
                    waiting.set_result(event.pid)
            else:
                self._note_end(event)

    def _note_end(self, ended: ProcessEnded) -> None:
        process = self._processes.pop(ended.pid)
        process.close()
        if process.is_worker:
            self._ended.put_nowait(ended)

    # -- its death -------------------------------------------------------------------------------

    def _note_death(self) -> None:
        """Note that it is gone, and begin to replace it."""
        if self._is_dead:
            return
        self._is_dead = True
        self._detach()
        self._control.close()
        self._buffer = b""
        self._orphaned = set(self._processes)
        starting, self._starting = self._starting, deque()
        for _, process_id in starting:
            if not process_id.done():
                process_id.set_exception(_LauncherDiedError())
        self._replacing = asyncio.create_task(self._replace())

    async def _replace(self) -> None:
        """End those that it has left, and start another one, unless they keep dying.

        The processes do not notice anything, and would go on beside their successors.
        """
        now = asyncio.get_running_loop().time()
        self._deaths.append(now)
        await asyncio.to_thread(_collect, self._pid)
        for process in self._processes.values():
            process.kill()
        while self._are_there():
            await asyncio.sleep(CHECK_EVERY_S)
            if asyncio.get_running_loop().time() > now + ENDED_WITHIN_S:
                self._fail(_CANNOT_BE_ENDED)
                return
        for pid in list(self._processes):
            self._note_end(ProcessEnded(pid, -signal.SIGKILL, was_orphaned=True))
        if len(self._deaths) == MOST_DEATHS and now - self._deaths[0] < DEATHS_WITHIN_S:
            self._fail(_KEEPS_DYING)
            return
        try:
            self._control, self._pid = _spawn()
        except OSError as error:
            self._fail(
                "the process that starts the workers has died, and no other one can be started "
                f"({error.strerror}): run the same command again, which continues"
            )
            return
        self._is_dead = False
        self._attach()
        self.say(
            "the process that starts the workers died: it is replaced, with all that it had started"
        )

    def _are_there(self) -> bool:
        return not all(process.has_ended() for process in self._processes.values())

    def _fail(self, message: str) -> None:
        self._failure = CrawlError(message)
        self._ended.put_nowait(None)


def _spawn() -> tuple[socket.socket, int]:
    """Start a launcher as a program; return our end of its socket, and its process id."""
    ours, theirs = socket.socketpair()
    with theirs:
        number = theirs.fileno()
        command = [*(sys.executable, "-P", "-m"), launcher_process.__name__, str(number)]
        try:
            process = subprocess.Popen(  # noqa: S603 -- our own program
                [*command, *sys.path],
                pass_fds=[number],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for us, also while it loads
            )
        except OSError:
            ours.close()
            raise
    process.returncode = 0  # we wait for it ourselves
    return ours, process.pid


def _collect(pid: int) -> bool:
    """Wait for the end of a launcher, if nobody has yet; tell whether that was in order."""
    with suppress(ChildProcessError):
        return os.waitpid(pid, 0)[1] == 0
    return True


class LaunchedProcess:
    """A process that can be killed and watched, whoever its parent is by now; to be closed."""

    def __init__(self, pid: int, *, is_worker: bool) -> None:
        """Begin to watch a process that has just been started."""
        self.pid = pid
        self.is_worker = is_worker
        self._descriptor: int | None = None
        self._has_ended = False
        if sys.platform == "linux":
            try:
                self._descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                self._has_ended = True
            except OSError:  # too many descriptors, or an old kernel: its id has to do
                self._descriptor = None

    def kill(self) -> None:
        """Kill it, if it has not ended yet."""
        if self.has_ended():
            return
        with suppress(OSError):
            if sys.platform == "linux" and self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Tell whether it has ended; whether its parent has collected it does not matter."""
        self._has_ended = self._has_ended or self._is_over()
        return self._has_ended

    def close(self) -> None:
        """Stop watching it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._collect()

    def _is_over(self) -> bool:
        if self._descriptor is not None:
            watch = select.poll()
            watch.register(self._descriptor, select.POLLIN)
            return bool(watch.poll(0))
        if self._collect():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False

    def _collect(self) -> bool:
        """Collect it, if we have become its parent: as the first process of a container does."""
        with suppress(ChildProcessError):
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return False
