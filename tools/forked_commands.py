"""Our commands as processes that start at once: forked from one that has loaded everything.

Most of what a short command takes is the start of Python and its imports. `ForkedCommands` starts
a process that does both once; for each command it forks, and the child is the command: with a
process id, folder, environment and streams of its own, and the end that an interpreter has. It
speaks UTF-8 in every locale; what else Python reads from the environment when it starts is not
that of the command.
"""

import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from tempfile import TemporaryFile
from typing import IO

Finished = subprocess.CompletedProcess[str]

ENTRIES = {"gossamer": "gossamer.cli.main", "crawler": "gossamer.cli.classic"}
"""The modules whose `run` the commands are; see pyproject.toml."""
MAX_JOB_BYTES = 200_000


class ForkedCommands:
    """A process that is ready to be any command, again and again, one at a time."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._server = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONUTF8": "1"},
                pass_fds=[theirs.fileno()],
            )

    def run(
        self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float = 50
    ) -> Finished:
        """Run a command to its end, as `subprocess.run` does."""
        job = json.dumps({"words": words, "cwd": str(cwd), "env": dict(env)}).encode()
        assert len(job) < MAX_JOB_BYTES
        with TemporaryFile() as out, TemporaryFile() as err:
            socket.send_fds(self._ours, [job], [out.fileno(), err.fileno()])
            child = int(self._ours.recv(100))
            self._ours.settimeout(timeout)
            try:
                code = int(self._ours.recv(100))
            except TimeoutError:
                os.kill(child, SIGKILL)
                self._ours.settimeout(None)
                self._ours.recv(100)
                raise subprocess.TimeoutExpired([*words], timeout, _text(out), _text(err)) from None
            self._ours.settimeout(None)
            return subprocess.CompletedProcess([*words], code, _text(out), _text(err))

    def close(self) -> None:
        """Let the process end."""
        self._ours.close()
        self._server.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="surrogateescape")


def serve(jobs: socket.socket) -> None:
    """Fork for each job that comes; return in a child that is to be the command."""
    while True:
        job, descriptors, *_ = socket.recv_fds(jobs, MAX_JOB_BYTES, 2)
        if not job:
            os._exit(0)
        child = os.fork()
        if not child:
            jobs.close()
            _become(json.loads(job), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        jobs.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        jobs.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(job: dict[str, object], descriptors: list[int]) -> None:
    for standard, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.chdir(str(job["cwd"]))
    assert isinstance(job["env"], dict)
    os.environ.clear()
    os.environ.update(job["env"])
    assert isinstance(job["words"], list)
    sys.argv = job["words"]


def load_everything() -> None:
    """Import what the commands import when they are asked for something."""
    import gossamer  # noqa: PLC0415 -- the tests that use this module load what they test

    for found in pkgutil.walk_packages(gossamer.__path__, "gossamer."):
        if not found.name.endswith("__main__"):
            with suppress(ImportError):  # of an optional library
                importlib.import_module(found.name)


if __name__ == "__main__":
    load_everything()
    gc.freeze()  # the garbage collector of a child need not look at what all of them share
    serve(socket.socket(fileno=int(sys.argv[1])))
    # In the child; its errors and its exit code are those of the interpreter.
    importlib.import_module(ENTRIES[Path(sys.argv[0]).name]).run()
