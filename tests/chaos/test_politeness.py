"""How a crawl that is killed again and again treats the web servers, by their own log."""

import os
import random
import signal
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from email.utils import formatdate
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Reply, RequestRecord, Reset, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer

DELAY_S = 0.2
MOMENT_S = 0.1
"""How soon after an answer a kill may come before what it asked for is written down, and how late a
busy machine may tell a server of a request whose sender is dead by then."""


def host(web: Web, name: str, delay_s: float = 0.0) -> None:
    """Describe a host with four pages."""
    links = "".join(f"<a href='/{number}'>x</a>" for number in (1, 2, 3))
    web.site(name).reply("/", Reply(body=f"{name} {links}", delay_s=delay_s))
    for number in (1, 2, 3):
        web.site(name).reply(f"/{number}", Reply(body=f"{name} {number}", delay_s=delay_s))


def refuse_once(web: Web, name: str, header: Mapping[str, str]) -> None:
    """Describe a host with a page that is not to be had at the first time of asking."""
    host(web, name)
    web.site(name).reply("/1", Reply(status=429, headers=header), Reply(body=f"{name} at last"))


def crawl_of(web: Web, directory: Path, delay_s: float) -> list[str]:
    """Return the command that crawls all hosts of the web."""
    seeds = [f"http://{name}/" for name in web.dns]
    options = ["--dir", directory, "--delay", f"{delay_s * 1000:.0f}ms", "--workers", 2]
    return ["crawl", *seeds, *map(str, options), "--allow-network", "127.0.0.1/32"]


def has_seen(web: Web, requests: int) -> bool:
    """Tell whether there were so many requests."""
    return len(web.requests) >= requests


def left(directory: Path) -> int:
    """Return how many URLs wait or are in progress, of hosts that may be asked within a minute."""
    with closing(sqlite3.connect(f"file:{directory}/crawl.sqlite?mode=ro", uri=True)) as db:
        (count,) = db.execute(
            "SELECT count(*) FROM urls JOIN hosts ON hosts.id = host "
            "WHERE state < 4 AND next_start < ?",
            (time.time() + 60,),
        ).fetchone()
    return int(count)


def starts(directory: Path) -> int:
    """Return how often the crawl was begun or continued."""
    with closing(sqlite3.connect(f"file:{directory}/crawl.sqlite?mode=ro", uri=True)) as db:
        found = db.execute("SELECT value FROM notes WHERE name = 'starts'").fetchone()
    return int(found[0]) if found else 0


@pytest.mark.req("B3")
def test_a_crawl_that_is_killed_again_and_again(
    chaos_seed: int, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    host(web, "plain.test")
    host(web, "slow.test", delay_s=0.15)
    host(web, "delay.test")
    web.site("delay.test").robots("User-agent: *\nCrawl-delay: 0.5")
    host(web, "breaking.test")
    web.site("breaking.test").raw("/2", Reset())
    now = time.time()
    until = {"Date": formatdate(now, usegmt=True), "Retry-After": formatdate(now + 2, usegmt=True)}
    refuse_once(web, "seconds.test", {"Retry-After": "1"})
    refuse_once(web, "date.test", until)
    refuse_once(web, "garbage.test", {"Retry-After": "soon"})
    refuse_once(web, "never.test", {"Retry-After": "315360000"})
    refusals_s = {"seconds.test": 1.0, "date.test": 2.0, "never.test": 60.0, "garbage.test": 0.5}

    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    kills: list[float] = []
    for _ in range(6):
        run = gossamer.start(*crawl_of(web, tmp_path, DELAY_S), dns=dict(web.dns))
        requests = len(web.requests) + rng.randint(3, 12)
        run.wait_for(partial(has_seen, web, requests))
        time.sleep(rng.uniform(0, 0.1))
        kills.append(time.monotonic())
        run.signal(signal.SIGKILL)
        assert run.was_killed()
    run = gossamer.start(*crawl_of(web, tmp_path, DELAY_S), dns=dict(web.dns))
    run.wait_for(lambda: left(tmp_path) == 0)
    run.signal(signal.SIGINT)
    assert run.end() in (0, 130), run.output

    def pause_s(record: RequestRecord) -> float:
        """Return the pause that must follow a request, as far as anybody lived to know it."""
        if any(record.started - MOMENT_S <= kill <= record.ended + MOMENT_S for kill in kills):
            return DELAY_S
        if record.host == "delay.test":
            return 0.5
        firsts = [one for one in web.requests_to(record.host) if one.path == "/1"][:1]
        return refusals_s.get(record.host, DELAY_S) if record in firsts else DELAY_S

    for name in web.dns:
        records = web.requests_to(name)
        paths = {record.path for record in records}
        assert paths >= {"/robots.txt", "/", "/1", "/2", "/3"} or name == "never.test"
        for record, following in pairwise(records):
            gap_s = following.started - record.ended
            assert gap_s >= pause_s(record), (record, following, kills)


@pytest.mark.req("B3")
@pytest.mark.parametrize(
    ("robots", "page", "pause_s"),
    [
        ("", {"Retry-After": "1"}, 1.0),
        ("", {"Retry-After": "315360000"}, None),
        ("User-agent: *\nCrawl-delay: 1", {}, 1.0),
    ],
)
def test_a_longer_pause_is_written_down_before_anything_else(
    robots: str,
    page: dict[str, str],
    pause_s: float | None,
    gossamer: "Gossamer",
    web: Web,
    tmp_path: Path,
) -> None:
    """Killed after the commit that has it: of the seeds, the beginning, robots.txt, the answer."""
    commits = 3 if robots else 4
    site = web.site("busy.test")
    site.robots(robots)
    site.reply("/", Reply(status=429 if page else 200, headers=page), Reply(body="at last"))
    command = crawl_of(web, tmp_path, 0.05)
    job = {"dns": dict(web.dns), "commit_every_s": 1000.0}
    run = gossamer.start(*command, step="after Frontier.commit", passing=commits, **job)
    assert run.was_killed()
    last = web.requests[-1]
    before = len(web.requests)
    run = gossamer.start(*command, **job)
    if pause_s is None:
        run.wait_for(lambda: starts(tmp_path) == 2)
        time.sleep(0.5)
        assert len(web.requests) == before
        run.signal(signal.SIGINT)
        assert run.end() == 130
    else:
        assert run.end() == 0, run.output
        assert web.requests[before].started - last.ended >= pause_s


@pytest.mark.req("B3")
def test_the_pause_after_a_crash_outlasts_an_interruption(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    web.site("a.test").reply("/", Reply(body="slow", delay_s=20), Reply(body="now"))
    command, job = crawl_of(web, tmp_path, 1.0), {"dns": dict(web.dns)}
    run = gossamer.start(*command, **job)
    run.wait_for(lambda: len(web.requests) == 2)
    run.signal(signal.SIGKILL)
    killed = time.monotonic()
    assert run.was_killed()
    run = gossamer.start(*command, **job)
    run.wait_for(lambda: starts(tmp_path) == 2)
    run.signal(signal.SIGINT)
    assert run.end() == 130, run.output
    run = gossamer.start(*command, **job)
    assert run.end() == 0, run.output
    assert web.requests[2].started - killed >= 1.0


SERVER_LAG_S = 0.03
"""How late a busy machine may notice that a client is gone: that is when a cut request ends."""


@pytest.mark.req("B3", "D16")
@pytest.mark.parametrize("victim", ["worker", "launcher"])
def test_workers_that_are_killed_again_and_again(
    victim: str, chaos_seed: int, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """What a host asked for is known to the coordinator, and outlives them.

    Those of a launcher that was killed are ended before others ask.
    """
    host(web, "plain.test")
    host(web, "slow.test", delay_s=0.15)
    host(web, "delay.test")
    web.site("delay.test").robots("User-agent: *\nCrawl-delay: 0.5")
    refuse_once(web, "seconds.test", {"Retry-After": "1"})
    pauses_s = {"delay.test": 0.5, "seconds.test": 1.0}

    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    kills: list[float] = []
    run = gossamer.start(*crawl_of(web, tmp_path, DELAY_S), dns=dict(web.dns))
    for _ in range(4):
        requests = len(web.requests) + rng.randint(2, 4)
        run.wait_for(partial(has_seen, web, requests))
        run.wait_for(lambda: len(run.workers) == 2)
        time.sleep(rng.uniform(0, 0.05))
        workers = run.workers
        kills.append(time.monotonic())
        os.kill(run.launcher if victim == "launcher" else rng.choice(workers), signal.SIGKILL)
        run.wait_for(lambda: run.workers != workers)  # noqa: B023
        if victim == "launcher":  # its workers did not die with it
            kills.append(time.monotonic())
    run.succeed()
    words = "died (signal 9) and is replaced" if victim == "worker" else "workers died: it is repl"
    assert run.output.count(words) == 4
    assert run.output.count("is replaced") == 4

    def was_cut(record: RequestRecord) -> bool:
        return any(record.started - MOMENT_S <= kill <= record.ended + MOMENT_S for kill in kills)

    for name in web.dns:
        records = web.requests_to(name)
        assert {record.path for record in records} == {"/robots.txt", "/", "/1", "/2", "/3"}
        refused = next(one for one in records if one.path == "/1")
        for record, following in pairwise(records):
            pause_s = pauses_s.get(name, DELAY_S) if record is refused else DELAY_S
            if name == "delay.test" and record is not records[0]:
                pause_s = pauses_s[name]
            if was_cut(record):
                pause_s = DELAY_S - SERVER_LAG_S
            assert following.started - record.ended >= pause_s, (record, following, kills)
    gossamer.start("verify", "--dir", tmp_path).succeed()
