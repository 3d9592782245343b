"""pywb for tests: a process of its own that replays the archives of a folder."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fetch_servers import find_pywb

STARTS_WITHIN_S = 30.0


@contextmanager
def pywb_server(folder: Path) -> Iterator[str]:
    """Replay what the folder's config.yaml names; give the URL of the server."""
    program = find_pywb()
    if program is None:
        reason = "no pywb here: run 'make test', which fetches it"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    port = _free_port()
    command = [str(program), "--bind", "127.0.0.1", "--port", str(port), "--directory", str(folder)]
    with (
        (folder / "pywb.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    give_up_at = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < give_up_at:
        assert process.poll() is None, "pywb has ended, see its log"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"pywb did not listen within {STARTS_WITHIN_S:g} s")
