"""Running our commands as people do: as processes."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.testing import Web

Finished = subprocess.CompletedProcess[str]
Command = Callable[..., Finished]


@pytest.fixture
def web() -> Iterator[Web]:
    """A web of our own; its first site answers under the address too."""
    with Web() as running:
        yield running


@pytest.fixture
def command() -> Command:
    """Run one of our commands to its end."""

    def run(name: str, *arguments: object, **environment: str) -> Finished:
        return subprocess.run(
            [str(Path(sys.executable).with_name(name)), *map(str, arguments)],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    return run


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """An empty page directory."""
    folder = tmp_path / "pages"
    folder.mkdir()
    return folder
