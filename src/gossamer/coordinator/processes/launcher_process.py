"""The process of the launcher: it has loaded what a worker needs, and forks workers from itself.

The process that writes the outputs is forked from it too.

A worker that starts by itself takes longer to load its libraries than to fetch a page; a forked one
begins at once, and shares the memory of what was loaded. The launcher has one thread and no event
loop, so it can fork at any time. It tells how its workers ended, and which pages they had in hand;
when whoever it works for is gone, it ends them, and itself. If it dies, whoever it works for ends
them, and starts another one (`coordinator/processes/launcher.py`).
"""

import gc
import os
import selectors
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

if TYPE_CHECKING:
    from gossamer.worker.in_flight import CrashNote

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
    """A process has ended."""

    pid: int
    code: int
    """Its exit code, or the signal that ended it as a negative number."""
    in_hand: list[int] = []
    """The URLs whose pages it had in hand."""
    received: int = 0
    """How many bytes it had received for tasks that it has not settled."""
    was_orphaned: bool = False
    """It was ended because its launcher had died: what it had in hand is not known."""


LauncherEvent = ProcessStarted | ProcessEnded


class LauncherProcess:
    """The launcher itself."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._processes: dict[int, CrashNote | None] = {}
        """The forked processes, by id: workers with their notes, and writers of outputs."""
        self._locks = tempfile.TemporaryFile()  # noqa: SIM115 -- as long as the process
        """A file that workers share: each has the descriptor, and locks bytes of it."""
        self._news, self._wake = socket.socketpair()
        self._news.setblocking(False)
        self._wake.setblocking(False)
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
        if what != KILL:
            self._start(what, descriptors)
        elif pid in self._processes:
            os.kill(pid, signal.SIGKILL)
        return True

    def _start(self, what: bytes, descriptors: Sequence[int]) -> None:
        """Fork a worker or a writer; it keeps the descriptors: its end of the channel, a lock."""
        from gossamer.worker.in_flight import CrashNote  # noqa: PLC0415

        note = CrashNote() if what == START else None
        pid = os.fork()
        if not pid:
            self._control.close()
            for descriptor in descriptors:  # a program that a module starts must not have them
                os.set_inheritable(descriptor, False)
            end = socket.socket(fileno=descriptors[0])
            if note is None:
                _write(end)
            _work(end, note, self._locks.fileno())
        for descriptor in descriptors:
            os.close(descriptor)
        self._processes[pid] = note
        self._tell(ProcessStarted(pid))

    def _collect(self) -> None:
        """Tell who has ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                pid, code = ended[0], os.waitstatus_to_exitcode(ended[1])
                if (note := self._processes.pop(pid)) is None:
                    self._tell(ProcessEnded(pid, code))
                else:
                    in_hand = note.suspects() if code else []
                    self._tell(ProcessEnded(pid, code, in_hand, note.received))

    def _tell(self, event: LauncherEvent) -> None:
        with suppress(OSError):  # nobody is there any more, which the next read shows
            self._control.sendall(msgspec.json.encode(event) + b"\n")

    def _end_all(self) -> None:
        """Give the processes a moment to leave, and end who stays."""
        deadline = time.monotonic() + LEAVE_WITHIN_S
        while self._processes and time.monotonic() < deadline:
            self._collect()
            time.sleep(0.01)
        for pid in self._processes:
            os.kill(pid, signal.SIGKILL)
        for pid in self._processes:
            os.waitpid(pid, 0)


def become_launcher(control: socket.socket, other: socket.socket | None = None) -> NoReturn:
    """Be the launcher, in a process that is one now."""
    code = 1
    try:
        if other is not None:
            other.close()
        if os.getsid(0) != os.getpid():
            os.setsid()  # Ctrl-C is for whoever we work for, who then tells the workers
        _load()
        LauncherProcess(control).serve()
        code = 0
    finally:
        os._exit(code)


def _load() -> None:
    """Load what workers need, once for all of them."""
    from gossamer.coordinator.processes import worker_main  # noqa: PLC0415

    worker_main.warm_up()
    gc.set_threshold(20_000, 20, 20)  # a page leaves hardly any cycles
    gc.freeze()  # what is loaded now stays: the collector need not scan it, nor copy its pages


def _work(end: socket.socket, note: "CrashNote", locks: int) -> NoReturn:
    """Be a worker, in a process that was just forked."""
    from gossamer.coordinator.processes import worker_main  # noqa: PLC0415
    from gossamer.download.address_slots import AddressLocks  # noqa: PLC0415

    code = 1
    try:
        _forget_children()
        code = worker_main.run_worker(end, note, AddressLocks(locks))
    finally:
        os._exit(code)


def _write(end: socket.socket) -> NoReturn:
    """Write outputs, in a process that was just forked."""
    code = 1
    try:
        _forget_children()
        with suppress(OSError):  # other systems have no such file
            Path("/proc/self/comm").write_text(WRITER_NAME, encoding="ascii")
        from gossamer.coordinator.processes import output_process  # noqa: PLC0415

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
    sys.path[:] = sys.argv[2:]  # modules are found where whoever we work for has found them
    become_launcher(socket.socket(fileno=int(sys.argv[1])))
