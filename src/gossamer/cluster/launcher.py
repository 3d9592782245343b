"""The launcher: a process that has loaded what a worker needs, and forks workers from itself.

Whoever writes the outputs is forked from it too.

A worker that starts by itself takes longer to load its libraries than to fetch a page; a forked one
begins at once, and shares the memory of what was loaded. The launcher has one thread and no event
loop, so it can fork at any time. It tells how its workers ended, and which pages they had in hand;
when whoever it works for is gone, it ends them, and itself.

It is itself forked from a command that has done little yet, and loads beside it; or it is started
by a program that may have threads, which must not fork.
"""

import asyncio
import gc
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from gossamer.errors import CrawlError

if TYPE_CHECKING:  # what workers need is loaded by the launcher, and by no other process
    from gossamer.worker.crash_note import CrashNote

COMMAND: Final = struct.Struct(">cq")
"""What is asked of the launcher, and of which process."""
START, WRITE, KILL = b"S", b"W", b"K"
WRITER_NAME: Final = "gossamer-output"
"""What Linux calls a process that writes outputs; its command line is that of the launcher."""
LEAVE_WITHIN_S: Final = 1.5
"""How long workers may take to end by themselves when their coordinator is gone."""


class ProcessStarted(msgspec.Struct, tag=True, frozen=True):
    """A worker process is there."""

    pid: int


class ProcessEnded(msgspec.Struct, tag=True, frozen=True):
    """A worker process has ended."""

    pid: int
    code: int
    """Its exit code, or the signal that ended it as a negative number."""
    in_hand: list[int] = []
    """The URLs whose pages it had in hand."""
    received: int = 0
    """How many bytes it had received for tasks that it has not settled."""


LauncherEvent = ProcessStarted | ProcessEnded


class Launcher:
    """The launcher, as seen by whoever it works for; to be closed."""

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
            _become(theirs, ours)
        theirs.close()
        return cls(ours, pid)

    @classmethod
    def spawn(cls) -> "Launcher":
        """Start it as a program of its own; raise OSError if that fails."""
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = [sys.executable, "-P", "-m", "gossamer.cluster.launcher", str(number)]
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


_DEAD: Final = (
    "the process that starts the workers has died: run the same command again, which continues"
)


def _lines(buffer: bytearray) -> Iterator[bytes]:
    """Yield the complete lines in a buffer, and remove them from it."""
    while (end := buffer.find(b"\n")) >= 0:
        yield bytes(buffer[:end])
        del buffer[: end + 1]


class LauncherProcess:
    """The launcher itself."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._workers: dict[int, CrashNote] = {}
        self._writers: set[int] = set()
        self._locks = tempfile.TemporaryFile()  # noqa: SIM115 -- as long as the process
        """What workers share: each has the descriptor, and locks bytes of it."""
        self._news, self._wake = socket.socketpair()
        for one in (self._news, self._wake):
            one.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno())

    def serve(self) -> None:
        """Fork workers until nobody wants any more; then end those that are left."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._news, selectors.EVENT_READ)
            while self._attend({key.fileobj for key, _ in selector.select()}):
                self._collect()
        self._end_all()

    def _attend(self, ready: set[object]) -> bool:
        """Do what is asked for; False when nobody is there any more."""
        if self._news in ready:
            self._news.recv(4096)
        if self._control not in ready:
            return True
        try:
            asked, descriptors, _, _ = socket.recv_fds(self._control, COMMAND.size, 2)
        except ConnectionError:
            return False
        if not asked:
            return False
        what, pid = COMMAND.unpack(asked)
        if what == START:
            self._start(descriptors)
        elif what == WRITE:
            self._start_writer(descriptors[0])
        elif pid in self._workers or pid in self._writers:
            os.kill(pid, signal.SIGKILL)
        return True

    def _start(self, descriptors: Sequence[int]) -> None:
        """Fork a worker, which keeps the descriptors: its end of the channel, and a lock."""
        from gossamer.worker.crash_note import CrashNote  # noqa: PLC0415

        note = CrashNote()
        pid = os.fork()
        if not pid:
            self._control.close()
            for one in descriptors:  # a program that a module starts must not have them
                os.set_inheritable(one, False)
            _work(socket.socket(fileno=descriptors[0]), note, self._locks.fileno())
        for one in descriptors:
            os.close(one)
        self._workers[pid] = note
        self._tell(ProcessStarted(pid))

    def _start_writer(self, descriptor: int) -> None:
        """Fork a process that writes outputs."""
        pid = os.fork()
        if not pid:
            self._control.close()
            _write(socket.socket(fileno=descriptor))
        os.close(descriptor)
        self._writers.add(pid)
        self._tell(ProcessStarted(pid))

    def _collect(self) -> None:
        """Tell who has ended."""
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                if pid in self._writers:
                    self._writers.remove(pid)
                    continue
                note = self._workers.pop(pid)
                code = os.waitstatus_to_exitcode(status)
                in_hand = note.suspects() if code else []
                self._tell(ProcessEnded(pid, code, in_hand, note.received))

    def _tell(self, event: LauncherEvent) -> None:
        with suppress(OSError):  # nobody is there any more, which the next read shows
            self._control.sendall(msgspec.json.encode(event) + b"\n")

    def _end_all(self) -> None:
        """Give the processes a moment to leave, and end who stays."""
        deadline = time.monotonic() + LEAVE_WITHIN_S
        while (self._workers or self._writers) and time.monotonic() < deadline:
            self._collect()
            time.sleep(0.01)
        left = [*self._workers, *self._writers]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for pid in left:
            os.waitpid(pid, 0)


def _become(control: socket.socket, other: socket.socket | None = None) -> NoReturn:
    """Be the launcher, in a process that is one now."""
    try:
        if other is not None:
            other.close()
        os.setsid()  # Ctrl-C is for whoever we work for, who then tells the workers
        _load()
        LauncherProcess(control).serve()
    finally:
        os._exit(0)


def _load() -> None:
    """Load what workers need, once for all of them."""
    from gossamer.cluster import worker_process  # noqa: PLC0415

    worker_process.warm_up()
    gc.set_threshold(20_000, 20, 20)  # a page leaves hardly any cycles
    gc.freeze()  # what is loaded now stays: the collector need not scan it, nor copy its pages


def _work(end: socket.socket, note: "CrashNote", locks: int) -> NoReturn:
    """Be a worker, in a process that was just forked."""
    from gossamer.cluster import worker_process  # noqa: PLC0415
    from gossamer.download import AddressLocks  # noqa: PLC0415

    code = 1
    try:
        _forget_children()
        code = worker_process.run_worker(end, note, AddressLocks(locks))
    finally:
        os._exit(code)


def _write(end: socket.socket) -> NoReturn:
    """Write outputs, in a process that was just forked."""
    code = 1
    try:
        _forget_children()
        with suppress(OSError):  # other systems have no such file
            Path("/proc/self/comm").write_text(WRITER_NAME, encoding="ascii")
        from gossamer.cluster import output_process  # noqa: PLC0415

        output_process.run_writer(end)
        code = 0
    except Exception:  # noqa: BLE001 -- whatever it is, people must see it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _forget_children() -> None:
    """Let the launcher's other processes be no concern of one that it has forked."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


if __name__ == "__main__":
    _become(socket.socket(fileno=int(sys.argv[1])))
