"""`gossamer migrate`, as it is typed."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from forked_commands import Finished, ForkedCommands

from gossamer.stores.redis.address import parse_address

if TYPE_CHECKING:
    from tests.transfer.conftest import CrawlLab

Command = Callable[..., Finished]


@pytest.fixture
def gossamer(forked: ForkedCommands, tmp_path: Path) -> Command:
    """Run the command to its end."""
    return lambda *words: forked.run(["gossamer", *words], cwd=tmp_path, env=os.environ)


def test_there_and_back(lab: "CrawlLab", crawl: str, gossamer: Command, tmp_path: Path) -> None:
    asyncio.run(lab.crawl(crawl, 20))
    target = str(tmp_path / "one")
    told = gossamer("migrate", lab.url, target, "--name", crawl)
    assert (told.returncode, told.stderr) == (0, "")
    assert f"continue with: gossamer resume {tmp_path / 'one'}\n" in told.stdout
    again = gossamer("migrate", lab.url, target, "--name", crawl)
    assert again.returncode == 2
    assert "--replace" in again.stderr
    assert gossamer("verify", "--dir", str(tmp_path / "one")).returncode == 0
    file = tmp_path / "one" / "crawl.sqlite"
    assert gossamer("verify", "--store", f"sqlite:{file}").returncode == 0

    other = f"{crawl}-2"
    back = gossamer("migrate", target, lab.url, "--name", other)
    assert (back.returncode, back.stderr) == (0, "")
    assert f"--store {parse_address(lab.url)} --name {other}\n" in back.stdout
    assert gossamer("verify", "--store", lab.url, "--name", other).returncode == 0


def test_a_password_is_not_shown(gossamer: Command, tmp_path: Path) -> None:
    url = "redis://:secret@127.0.0.1:1"
    told = gossamer("migrate", url, f"sqlite:{tmp_path / 'one'}", "--name", "any")
    assert told.returncode == 1
    assert "cannot be reached" in told.stderr
    assert "secret" not in told.stdout + told.stderr
