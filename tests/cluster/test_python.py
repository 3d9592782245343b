"""A shared crawl from Python: the same as the command, whatever its modules are."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from redis_servers import RedisServer
from tests.cluster.small_web import HOSTS

import gossamer
from gossamer.testing import Web


def options(server: RedisServer, name: str, folder: Path) -> dict[str, Any]:
    return {
        "store": server.url,
        "name": name,
        "dir": str(folder),
        "delay": "0s",
        "scope": "any",
        "allow_network": ["127.0.0.0/8", "::1"],
    }


@pytest.mark.req("B4", "B10")
def test_a_module_by_name_runs_in_worker_processes(
    server: RedisServer, web: Web, tmp_path: Path
) -> None:
    seed = f"http://{HOSTS[0]}:{web.address[1]}/"
    given = options(server, "by-name", tmp_path / "here")

    summary = asyncio.run(gossamer.crawl(seed, module="save:folder=html", **given))

    assert summary.ended_by == "complete"
    saved = {int(file.name) for file in (tmp_path / "here" / "html").iterdir()}
    assert saved == set(range(1, summary.snapshot.pages + 1))
    assert not (tmp_path / "here" / "crawl.sqlite").exists()
    again = asyncio.run(gossamer.crawl(seed, module="save", **given))
    assert again.was_over


@pytest.mark.req("B4", "B10")
def test_a_function_is_called_in_the_caller_s_process(
    server: RedisServer, web: Web, tmp_path: Path
) -> None:
    seen: list[int] = []
    seed = f"http://{HOSTS[0]}:{web.address[1]}/"
    given = options(server, "by-function", tmp_path)

    summary = asyncio.run(gossamer.crawl(seed, module=lambda page: seen.append(page.id), **given))

    assert summary.ended_by == "complete"
    assert sorted(seen) == [*range(1, summary.snapshot.pages + 1)]
