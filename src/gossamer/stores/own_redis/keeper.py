"""The keeper of a server: ends it when whoever started it is gone, however that has ended.

A program of its own, which needs nothing but the standard library. Its standard input is a pipe: a
byte says that the server is not needed any more. An end without it says that the other process has
died, and then its workers get the time to give back what they have. A server that dies in the
meantime is started again; its clients wait for it, and it has its data on disk.

    python keeper.py FOLDER MARK LOCK COMMAND…

FOLDER is removed at the end, MARK is written if the server has stopped in order, unless they are
empty; LOCK is a descriptor for the server to keep.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

STOP_WITHIN_S = 20.0
LIVED_S = 2.0
MOST_SHORT_LIVES = 3
"""A server that has lived for less than that, this many times in a row, cannot be started."""
LEAVE_WITHIN_S = 2.5
"""How long workers get to leave when nobody coordinates them any more; they end within 2 s."""
PR_SET_PDEATHSIG = 1


class KeptServer:
    """A server that is started again until it is stopped."""

    def __init__(self, command: list[str], lock: int) -> None:
        self.is_stopped = False
        self._command = command
        self._lock = lock
        self._changing = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def run(self) -> int:
        """Run until it is stopped, or cannot be started; return the exit code of the last one."""
        code, short_lives = 0, 0
        while short_lives < MOST_SHORT_LIVES and (process := self._start()) is not None:
            begun = time.monotonic()
            code = process.wait()
            short_lives = short_lives + 1 if time.monotonic() - begun < LIVED_S else 0
        return code

    def stop(self) -> None:
        """End it in order, or at last by force."""
        with self._changing:
            self.is_stopped = True
            if self._process is not None:
                self._process.terminate()
                killing = threading.Timer(STOP_WITHIN_S, self._process.kill)
                killing.daemon = True
                killing.start()

    def _start(self) -> "subprocess.Popen[bytes] | None":
        with self._changing:
            if self.is_stopped:
                return None
            self._process = subprocess.Popen(  # noqa: S603 -- as whoever started us says
                self._command,
                stdin=subprocess.DEVNULL,
                pass_fds=[self._lock],
                preexec_fn=self._end_with_parent,  # noqa: PLW1509 -- one call of the system
            )
            return self._process

    def _end_with_parent(self) -> None:
        """Have the server end in order if the keeper itself is killed; only Linux can do that."""
        if self._libc is not None:
            self._libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def main() -> NoReturn:
    """Keep the server until nobody needs it any more."""
    os.umask(0o077)
    folder, mark, lock, *command = sys.argv[1:]
    server = KeptServer(command, int(lock))

    def await_end_of_input() -> None:
        if not sys.stdin.buffer.read(1):
            time.sleep(LEAVE_WITHIN_S)
        server.stop()

    threading.Thread(target=await_end_of_input, daemon=True).start()
    code = server.run()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    if mark and server.is_stopped and code == 0:
        with contextlib.suppress(OSError):
            Path(mark).touch()
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
