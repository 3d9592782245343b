"""Running our commands as people do: as processes."""

import os
import secrets
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


def run_gossamer(*words: object, cwd: Path, **environment: str) -> Finished:
    """Run the command in a folder, to its end."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("gossamer")), *map(str, words)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.fixture
def gossamer(tmp_path: Path) -> Command:
    """Run the command in a folder of its own."""
    return lambda *words, **more: run_gossamer(*words, **{"cwd": tmp_path, **more})


@pytest.fixture(scope="session")
def gossamer_in() -> Command:
    """Run the command in any folder."""
    return run_gossamer


def name_crawl(request: pytest.FixtureRequest) -> list[str]:
    """Return the words that name a new crawl in the store that the fixture asks for."""
    if request.param == "sqlite":
        return ["--dir", "a crawl"]
    return ["--store", request.getfixturevalue("redis_url"), "--name", secrets.token_hex(4)]


crawl = pytest.fixture(name_crawl, params=["sqlite", "redis"])
crawl_of_module = pytest.fixture(name_crawl, params=["sqlite", "redis"], scope="module")
