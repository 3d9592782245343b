"""kill -9 at any moment, then the same command again: nothing is lost, nothing is there twice."""

import os
import random
import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING

import pytest
from tests.chaos.conftest import Withheld

from gossamer.testing import Raw, Reply, RequestRecord, Web
from gossamer.testing.traffic import traffic_of

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer, GossamerRun, SmallCrawl

QUICK_COMMITS = {"commit_every_s": 0.005}
SERVER_LAG_S = 0.1
"""Twenty times as often as in real life, so that a crash can fall between any two commits."""

COORDINATOR_STEPS = [
    *["after CrawlDirectory.__enter__", "after SqliteRows.__init__"],
    *["after CrawlMemory.__init__", "after FrontierState.__init__"],
    *["after ModuleRunner.open", "before Frontier.add_seeds", "after Frontier.add_seeds"],
    *["after UrlMemory.add", "after CrawlMemory.put"],
    *["after UrlMemory.set_score", "after WaitingUrls.push", "after Frontier.prioritise"],
    *["after WaitingUrls.take", "after Frontier.route"],
    *["after FrontierState.begin_tasks", "after Frontier.lease"],
    *["after Frontier.join", "after Frontier.release", "after Frontier.claim"],
    *["before Frontier._record", "after FrontierState.wait_for_retry"],
    *["after UrlMemory.finish", "after PageMemory.add", "after UrlMemory.set_path"],
    *["after PageMemory.add_result", "after LinkGraph._put_in_line"],
    *["after Frontier._record", "after Frontier.confirm_depth_changes"],
    *["before Frontier.commit", "after HostRegistry.save", "after FrontierState._lease_row"],
    *["before SqliteRows.write", "after SqliteRows.write"],
    *["before SqliteRows._commit", "before Checkpoints.after_commit", "after SqliteRows._commit"],
    *["after CrawlMemory.end_write", "after Frontier.commit"],
    *["after ModuleRunner.close", "before Frontier.close", "before SqliteRows.close"],
    *["after SqliteRows.close", "after CrawlDirectory.__exit__"],
]
WORKER_STEPS = [
    *["before ModuleRunner.open", "after ModuleRunner.open"],
    *["before PoliteRobots.judge", "after PoliteRobots.judge"],
    *["before Client.fetch", "after Client.fetch"],
    *["before os.writev", "within os.writev", "after os.writev", "after os.replace"],
    *["before ModuleRunner.deliver", "after ModuleRunner.deliver"],
    *["before ModuleRunner.finished", "after ModuleRunner.finished"],
    *["before ModuleRunner.depth_changed", "after ModuleRunner.depth_changed"],
    *["before ModuleRunner.close", "after ModuleRunner.close", "after Client.__aexit__"],
]


@pytest.mark.req("B1", "B9", "D16")
@pytest.mark.parametrize("step", COORDINATOR_STEPS)
def test_killed_at_a_step(step: str, chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """At the first passing of it, and then at a later one, if there is any."""
    kills = 0
    for passing in (1, 4 + 3 * chaos_seed):
        if not crawl.start(tmp_path, step=step, passing=passing, **QUICK_COMMITS).was_killed():
            break
        kills += 1
    assert kills, "this step is never taken"
    crawl.finish(tmp_path)


@pytest.mark.req("B1", "B9", "D16")
@pytest.mark.parametrize("step", WORKER_STEPS)
def test_a_worker_killed_at_a_step_is_replaced(
    step: str, chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path
) -> None:
    """The command goes on; at the first passing, and in other rounds at later ones."""
    passing = 1 + 2 * chaos_seed
    run = crawl.start(tmp_path, step=step, passing=passing, role="worker", **QUICK_COMMITS)
    run.succeed()
    assert run.step_was_taken or passing > 1, "this step is never taken"
    crawl.check(tmp_path, with_parts=True)


@pytest.mark.req("B1", "B3", "D16")
@pytest.mark.parametrize("workers", [1, 3])
def test_workers_killed_at_random_moments_are_replaced(
    workers: int, chaos_seed: int, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """Each page is kept once, what was in progress is fetched again, and nobody else is asked."""
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(80)]
    site.page("/", links=paths)
    for path in paths:
        site.reply(path, Reply(body=path, delay_s=0.03))
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path, "--module", "save"]
    command += ["--delay", "0s", "--host-connections", 4, "--workers", workers]
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    run = gossamer.start(*command)
    killed: list[int] = []
    kills: list[float] = []
    for requests in (4, 20, 40, 60):
        least = requests + rng.randrange(10)
        run.wait_for(lambda: len(web.requests) >= least and bool(run.workers))  # noqa: B023
        killed.append(rng.choice(run.workers))
        kills.append(time.monotonic())
        os.kill(killed[-1], SIGKILL)
        run.wait_for(lambda: killed[-1] not in run.workers)
    run.succeed()
    died = re.findall(r"worker (\d+) died \(signal 9\) and is replaced", run.output)
    assert len(died) == len(killed)
    assert {*map(int, died)} <= {*range(workers)}, "whoever replaces one has its number"
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert set(asked) == {"/", *paths}
    assert asked.total() <= len(asked) + 4 * len(killed), "what nobody had was not asked for twice"
    uncut = [one for one in web.requests if not any(was_cut(one, kill) for kill in kills)]
    assert traffic_of(uncut, time.monotonic()).most_at_once <= 4
    saved = [one for one in (tmp_path / "pages").iterdir() if not one.name.startswith(".")]
    assert sorted(int(one.name) for one in saved) == [*range(1, len(asked) + 1)]
    assert len({one.read_text().partition("\n")[0] for one in saved}) == len(asked)
    gossamer.start("verify", "--dir", tmp_path).succeed()


def was_cut(record: RequestRecord, kill: float) -> bool:
    """Tell whether a kill may have cut a request, of which a busy server may hear late."""
    return record.started - SERVER_LAG_S <= kill <= record.ended + SERVER_LAG_S


def kill_at_random(run: "GossamerRun", crawl: "SmallCrawl", rng: random.Random) -> None:
    """Kill it a moment after one of its requests, while it works on the answer or on others."""
    requests = len(crawl.web.requests) + rng.randint(1, 20)
    run.wait_for(lambda: len(crawl.web.requests) >= requests)
    time.sleep(rng.uniform(0, 0.02))
    run.signal(SIGKILL)


@pytest.mark.req("B1", "B9", "D16")
def test_killed_at_random_moments(chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """Each crashed state is sound in itself, too."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    kills = 0
    for _ in range(6):
        run = crawl.start(tmp_path, **(QUICK_COMMITS if chaos_seed % 2 else {}))
        kill_at_random(run, crawl, rng)
        kills += run.was_killed()
        crawl.verify(tmp_path)
    assert kills
    crawl.finish(tmp_path)


@pytest.mark.req("B1")
def test_a_loss_of_power_costs_the_last_commits_only(
    chaos_seed: int, crawl: "SmallCrawl", tmp_path: Path
) -> None:
    """What the operating system had not written of the log is gone; the files were faster."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    run = crawl.start(tmp_path, **QUICK_COMMITS)
    kill_at_random(run, crawl, rng)
    assert run.was_killed()
    log = tmp_path / "crawl.sqlite-wal"
    os.truncate(log, rng.randrange(log.stat().st_size))
    crawl.finish(tmp_path)


@pytest.mark.req("B1")
def test_a_loss_of_power_at_the_beginning_leaves_a_crawl_its_directory(
    crawl: "SmallCrawl", tmp_path: Path
) -> None:
    settled = {"step": "after Frontier._record", "passing": 3}
    assert crawl.start(tmp_path, **settled, **QUICK_COMMITS).was_killed()
    os.truncate(tmp_path / "crawl.sqlite-wal", 0)
    crawl.finish(tmp_path)


@pytest.mark.req("B1")
@pytest.mark.parametrize("passing", [1, 2, 3])
def test_killed_while_it_starts_over(passing: int, crawl: "SmallCrawl", tmp_path: Path) -> None:
    """The old state goes file by file; what is left of it is not taken for a crawl."""
    assert crawl.start(tmp_path, "--max-pages", 1).end() == 0
    settled = {"step": "after Frontier._record", "passing": 20}
    assert crawl.start(tmp_path, **settled, **QUICK_COMMITS).was_killed()
    assert tmp_path.joinpath("crawl.sqlite-wal").stat().st_size > 0
    assert crawl.start(tmp_path, "--fresh", step="after Path.unlink", passing=passing).was_killed()
    crawl.finish(tmp_path)


@pytest.mark.req("B1", "B2")
@pytest.mark.parametrize("role", ["both", "worker"])
def test_what_a_kill_at_the_very_end_kept_from_the_modules_is_told_all_the_same(
    role: str, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The last page of the crawl is a short cut to another, which is saved already."""
    site = web.site("127.0.0.1")
    site.page("/", links=["/short-cut", "/1"])
    site.page("/1", links=["/2"])
    site.page("/2", links=["/3"])
    site.page("/3")
    saved = tmp_path / "pages"
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path, "--module", "save"]
    command += ["--delay", "0s", "--host-connections", 2]
    site.reply("/short-cut", Reply(body='<a href="/3">three</a>', delay_s=0.5))
    step = "before ModuleRunner.depth_changed"
    run = gossamer.start(*command, step=step, role=role, commit_every_s=1000)
    if role == "both":
        assert run.was_killed()
        assert (saved / "4").read_text().startswith(f"{web.base_url}/3\n3\n")
        gossamer.start(*command).succeed()
    else:
        run.succeed()
        assert run.step_was_taken
    assert (saved / "4").read_text().startswith(f"{web.base_url}/3\n2\n")
    assert gossamer.start("verify", "--dir", tmp_path).end() == 0


@pytest.mark.req("B1", "D11", "D16")
@pytest.mark.parametrize(
    ("step", "role"),
    [
        ("after Frontier.claim", "coordinator"),
        ("after Frontier._record", "coordinator"),
        ("after os.replace", "worker"),
    ],
)
def test_killed_while_pages_are_visited_again(
    step: str, role: str, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The file of a page may have a version that was never settled; then it is replaced."""
    site = web.site("127.0.0.1")
    paths = [f"/{number}" for number in range(6)]
    links = "".join(f"<a href='{path}'>" for path in paths)
    for path in paths:
        site.reply(path, *(Reply(body=f"<p>version {one} of {path}") for one in (1, 2, 3)))
    site.reply("/", Reply(body=f"<p>home{links}<a href='/slow'>"))
    site.reply("/slow", Reply(body=f"<p>slow{links}", delay_s=1.1))
    limits = ["--delay", "0s", "--revisit", "1s", "--similarity", "1", "--workers", "1"]
    command = ["crawl", f"{web.base_url}/", "--module", "save", *limits, "--dir", tmp_path]
    first_round = len(paths) + 2
    run = gossamer.start(*command, step=step, passing=first_round + 3, role=role)
    run.end()
    assert run.step_was_taken
    verified = gossamer.start("verify", "--dir", tmp_path)
    assert verified.end() == 0, verified.output
    gossamer.start(*command).succeed()
    verified = gossamer.start("verify", "--dir", tmp_path)
    assert verified.end() == 0, verified.output
    assert "8 pages, " in verified.output
    saved = {int(file.name): file.read_bytes() for file in (tmp_path / "pages").glob("[0-9]*")}
    assert saved.keys() == set(range(1, 9))
    bodies = [saved[number].split(b"\n", 2)[2].decode() for number in saved]
    assert {body for body in bodies if "version 1" in body} == set(), "all were visited again"


@pytest.mark.req("B1", "B2")
def test_killed_while_a_shorter_path_is_followed(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    """The last page is a short cut to a hub, whose links are followed in steps: one kills."""
    site = web.site("127.0.0.1")
    leaves = [f"/leaf/{number}" for number in range(700)]
    site.page("/", links=["/1", "/short-cut"])
    site.page("/1", links=["/2"])
    site.page("/2", links=["/hub"])
    site.page("/hub", links=leaves)
    for leaf in leaves:
        site.page(leaf, text=leaf)

    def is_last() -> bool:
        with closing(sqlite3.connect(tmp_path / "crawl.sqlite")) as db:
            (left,) = db.execute("SELECT count(*) FROM urls WHERE state < 4").fetchone()
        return int(left) == 1

    short_cut = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href='/hub'>a short cut</a>"
    site.reply("/short-cut", Raw(Withheld(is_last, short_cut)))
    command = ["crawl", f"{web.base_url}/", "--dir", tmp_path, "--delay", "0s"]
    command += ["--host-connections", 8, "--similarity", "off"]
    # The hub gets in line when the short cut is settled, and in line again at each step.
    run = gossamer.start(
        *command, step="after LinkGraph._put_in_line", passing=4, commit_routing=True
    )
    assert run.was_killed()
    depths = "SELECT depth, count(*) FROM urls WHERE url LIKE '%/leaf/%' GROUP BY depth"
    with closing(sqlite3.connect(tmp_path / "crawl.sqlite")) as db:
        assert db.execute("SELECT done FROM relaxing").fetchall() == [(400,)]
        assert db.execute(depths).fetchall() == [(3, 400), (4, 300)]
    gossamer.start("verify", "--dir", tmp_path).succeed()
    gossamer.start(*command).succeed()
    with closing(sqlite3.connect(tmp_path / "crawl.sqlite")) as db:
        assert db.execute(depths).fetchall() == [(3, 700)]
    gossamer.start("verify", "--dir", tmp_path).succeed()
