"""Ctrl-C, a second Ctrl-C, a crawl that is over, and two crawls at once."""

import re
import shlex
import signal
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.cli.signals import ECHO_S
from gossamer.testing import Reply, Web

if TYPE_CHECKING:
    from tests.chaos.conftest import Gossamer


def crawl_of(web: Web, directory: Path) -> list[str]:
    """Return the command that crawls the web's own address into the directory."""
    options = ["--module", "save", "--delay", "0s", "--host-connections", "2"]
    return ["crawl", f"{web.base_url}/", "--dir", str(directory), *options]


def saved(directory: Path) -> set[str]:
    """Return the paths of the saved pages."""
    urls = [file.read_text().partition("\n")[0] for file in (directory / "pages").iterdir()]
    assert len(set(urls)) == len(urls)
    return {re.sub("^http://[^/]*", "", url) for url in urls}


def contents(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Return all there is in a directory, with the time when it was last changed."""
    return {
        str(path.relative_to(directory)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in directory.rglob("*")
        if path.is_file()
    }


@pytest.mark.req("B1")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_once_it_finishes_what_is_in_progress(
    number: signal.Signals, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/slow", *[f"/{leaf}" for leaf in range(30)]])
    site.reply("/slow", Reply(body="slow", delay_s=0.4))
    for leaf in range(30):
        site.reply(f"/{leaf}", Reply(body=str(leaf), delay_s=0.05))
    directory = tmp_path / "a crawl"
    run = gossamer.start(*crawl_of(web, directory), "--fresh")
    run.wait_for(lambda: "/slow" in [record.path for record in web.requests])
    run.signal(number)
    assert run.end() == 130, run.output
    assert "finishing what is in progress; press Ctrl-C again to quit now" in run.output
    assert "Ended          it was interrupted" in run.output
    asked = Counter(record.path for record in web.requests)
    assert asked["/slow"] == 1
    assert saved(directory) == set(asked) - {"/robots.txt"}, "what was asked for was saved"
    (again,) = re.findall("Continue with +(.*)", run.output)
    run = gossamer.start(*shlex.split(again)[1:])
    assert run.end() == 0, run.output
    assert len(saved(directory)) == 32
    asked = Counter(record.path for record in web.requests)
    assert 2 <= asked.pop("/robots.txt") <= 4, "each worker asks once, and there may be two"
    assert set(asked.values()) == {1}, "nothing was asked for twice"


def test_one_signal_that_arrives_doubled_counts_once(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/1", "/2", "/3"])
    for name in "123":
        site.reply(f"/{name}", Reply(body=f"slow {name}", delay_s=1.0))
    run = gossamer.start(*crawl_of(web, tmp_path))
    run.wait_for(lambda: {"/1", "/2"} <= {record.path for record in web.requests})
    run.signal(signal.SIGTERM)
    run.wait_for(lambda: "finishing what is in progress" in run.output)
    run.signal(signal.SIGTERM)
    assert run.end() == 130, run.output
    assert "stopped at once" not in run.output
    assert saved(tmp_path) == {"/", "/1", "/2"}


@pytest.mark.req("B1", "B3")
def test_interrupted_twice_it_stops_at_once_and_loses_nothing(
    gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/endless", "/b", "/c"])
    site.reply("/endless", Reply(body="late", delay_s=20), Reply(body="at last"))
    site.page("/b")
    site.page("/c")
    run = gossamer.start(*crawl_of(web, tmp_path), "--workers", "1")  # each asks for robots.txt
    run.wait_for(lambda: tmp_path.joinpath("pages/3").exists())
    run.signal(signal.SIGINT)
    run.wait_for(lambda: "press Ctrl-C again to quit now" in run.output)
    time.sleep(ECHO_S)  # sooner it would count as the first
    run.signal(signal.SIGINT)
    assert run.end() == 130, run.output
    assert "stopped at once" in run.output
    assert "Traceback" not in run.output
    assert saved(tmp_path) == {"/", "/b", "/c"}
    (again,) = re.findall("continue with: (.*)", run.output)
    run = gossamer.start(*shlex.split(again)[1:])
    assert run.end() == 0, run.output
    assert saved(tmp_path) == {"/", "/b", "/c", "/endless"}
    asked = Counter(record.path for record in web.requests)
    assert asked == {"/robots.txt": 2, "/": 1, "/b": 1, "/c": 1, "/endless": 2}


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("budget", "advice"),
    [
        ("10", "start over with 'gossamer crawl … --fresh'"),
        ("2", "raise --max-pages to continue, or start over with 'gossamer crawl … --fresh'"),
    ],
)
def test_a_crawl_that_is_over_says_so_and_is_not_touched(
    budget: str, advice: str, gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/b", "/c"])
    site.page("/b")
    site.page("/c")
    command = [*crawl_of(web, tmp_path), "--max-pages", budget]
    assert gossamer.start(*command).end() == 0
    before, requests = contents(tmp_path), web.requests
    run = gossamer.start(*command)
    assert run.end() == 0
    assert f"this crawl is finished; {advice}" in run.output
    assert contents(tmp_path) == before
    assert web.requests == requests
    assert gossamer.start(*command, "--fresh").end() == 0
    assert len(web.requests) == 2 * len(requests)


def test_two_processes_do_not_crawl_into_one_directory(
    gossamer: "Gossamer", other_gossamer: "Gossamer", web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/slow"])
    site.reply("/slow", Reply(body="slow", delay_s=0.5))
    first = gossamer.start(*crawl_of(web, tmp_path))
    first.wait_for(lambda: len(web.requests) == 3)
    first.signal(signal.SIGSTOP)
    second = other_gossamer.start(*crawl_of(web, tmp_path))
    assert second.end() == 1
    first.signal(signal.SIGCONT)
    assert second.output == (
        f"gossamer: another process is crawling into {tmp_path}: wait for it, or name another "
        "directory with --dir\n"
    )
    assert first.end() == 0, first.output
    assert len(web.requests) == 3
    assert saved(tmp_path) == {"/", "/slow"}
