"""The documentation site on loopback, in memory, with answers that take as long as one wants."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.sites import manual_folder

PROGRAM = Path(__file__).with_name("serve_docs.py")


class Server:
    """The server's process, as its owner sees it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/index.html"


@contextmanager
def serve(delay_ms: int = 0) -> Iterator[Server]:
    """Serve inside the `with` statement."""
    command = [sys.executable, str(PROGRAM), str(manual_folder()), str(delay_ms)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()))
