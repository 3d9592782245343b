"""How much of its work a killed crawl does again."""

import time
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Reply, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer

WINDOW_S = 1.0
"""Commits come every 100 ms; the rest is for a machine that is busy with other tests."""
PAGES, ANSWER_S = 800, 0.02
"""So that the crawl takes longer than the window, however fast the machine is."""


def has_seen(web: Web, requests: int) -> bool:
    return len(web.requests) >= requests


@pytest.mark.req("B1", "D16")
def test_only_the_last_moment_before_a_kill_is_done_again(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(PAGES)]
    site.page("/", links=paths)
    for path in paths:
        site.reply(path, Reply(body=path, delay_s=ANSWER_S))
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path]
    command += ["--delay", "0s", "--host-connections", 8]
    kills: list[float] = []
    for requests in (200, 400, 600):
        run = gossamer.start(*command)
        run.wait_for(partial(has_seen, web, requests))
        kills.append(time.monotonic())
        run.signal(SIGKILL)
        assert run.was_killed()
    assert gossamer.start(*command).end() == 0
    pages = [record for record in web.requests if record.path != "/robots.txt"]
    last_asked = {record.path: record.started for record in pages}
    assert len(last_asked) == 1 + PAGES
    ages_s = [
        kill - record.ended
        for record in pages
        for kill in [next((kill for kill in kills if kill > record.ended), None)]
        if kill is not None and last_asked[record.path] > kill
    ]
    assert max(ages_s) < WINDOW_S
