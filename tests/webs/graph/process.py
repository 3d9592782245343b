"""The synthetic web in a process of its own, so that the crawler has a core for itself.

The two exchange lines of JSON. The server writes its port, answers every line with a report of its
traffic, and exits at the end of its input: also when its parent was killed.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

import msgspec

from gossamer.model.errors import GossamerError
from gossamer.testing.server import LOOPBACK
from gossamer.testing.traffic import Traffic

ROOT = Path(__file__).resolve().parents[3]


class GraphProcess:
    """A web that another process serves."""

    def __init__(self, questions: IO[bytes], answers: IO[bytes], host_names: Iterable[str]) -> None:
        self._questions = questions
        self._answers = answers
        port = msgspec.json.decode(self._next_line(), type=dict[str, int])["port"]
        self.address = (LOOPBACK, port)
        """The address and port it listens on."""
        addresses = dict.fromkeys(host_names, f"{LOOPBACK}:{port}")
        self.dns: Mapping[str, str] = MappingProxyType(addresses)
        """The name table for a client: every host has that address."""

    def report(self) -> Traffic:
        """Return the statistics so far."""
        with contextlib.suppress(BrokenPipeError):  # reading then fails
            self._questions.write(b"\n")
            self._questions.flush()
        return msgspec.json.decode(self._next_line(), type=Traffic)

    def _next_line(self) -> bytes:
        line = self._answers.readline()
        if not line:
            raise GossamerError("the process that serves the synthetic web has ended too early")
        return line


@contextlib.contextmanager
def serve_in_process(description: bytes, host_names: Iterable[str]) -> Iterator[GraphProcess]:
    """Serve the web of that description, in JSON, inside the `with` statement."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.webs.graph", description.decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield GraphProcess(process.stdin, process.stdout, host_names)
