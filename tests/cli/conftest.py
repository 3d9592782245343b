"""Running our commands as people do: as processes."""

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forked_commands import Finished, ForkedCommands

from gossamer.testing import Web

Command = Callable[..., Finished]


@pytest.fixture
def web() -> Iterator[Web]:
    """A web of our own; its first site answers under the address too."""
    with Web() as running:
        yield running


@pytest.fixture
def command(forked: ForkedCommands) -> Command:
    """Run one of our commands to its end."""

    def run(name: str, *arguments: object, **environment: str) -> Finished:
        words = [name, *map(str, arguments)]
        return forked.run(words, cwd=Path.cwd(), env=os.environ | environment)

    return run


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """An empty page directory."""
    folder = tmp_path / "pages"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def gossamer_in(forked: ForkedCommands) -> Command:
    """Run the command in any folder, to its end."""

    def run(*words: object, cwd: Path, **environment: str) -> Finished:
        return forked.run(["gossamer", *map(str, words)], cwd=cwd, env=os.environ | environment)

    return run


@pytest.fixture
def gossamer(gossamer_in: Command, tmp_path: Path) -> Command:
    """Run the command in a folder of its own."""
    return lambda *words, **more: gossamer_in(*words, **{"cwd": tmp_path, **more})


def name_crawl(request: pytest.FixtureRequest) -> list[str]:
    """Return the words that name a new crawl in the store that the fixture asks for."""
    if request.param == "sqlite":
        return ["--dir", "a crawl"]
    return ["--store", request.getfixturevalue("redis_url"), "--name", secrets.token_hex(4)]


crawl = pytest.fixture(name_crawl, params=["sqlite", "redis"])
crawl_of_module = pytest.fixture(name_crawl, params=["sqlite", "redis"], scope="module")
