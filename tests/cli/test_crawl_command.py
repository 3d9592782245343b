"""`gossamer crawl` as people type it: seeds, patterns, markers, and what it says at its end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from gossamer.testing import Web

MARKED = '<p>in <!-- CONTENT --><a href="/bare">bare</a><!-- CONTENT --></p>'
BARE = '<p>other words <a href="/never">never</a></p>'


@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_a_page_without_markers_says_so(
    web: Web, command: Command, tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    site, base = web.site("a.test"), web.base_url
    site.page("/", html=MARKED)
    site.page("/bare", html=BARE)
    place = ["--dir", tmp_path / "crawl"]
    if store == "redis":
        place = ["--store", request.getfixturevalue("redis_url"), "--name", "without-markers"]
    usual = ("--delay", "0s", "--workers", "1", "--markers", "<!-- CONTENT -->", "-v")
    ended = command("gossamer", "crawl", base, *place, *usual)
    assert ended.returncode == 0, ended.stderr
    assert f"NoMarkers: {base}/bare" in ended.stdout
    assert f"NoMarkers: {base}/\n" not in ended.stdout
    told = "fetched: 1 without content markers, whose links are not followed"
    assert told in " ".join(ended.stderr.split())
    assert told in command("gossamer", "status", *place).stdout
    explained = command("gossamer", "explain", f"{base}/bare", *place).stdout
    assert "fetched: it has no content markers, so none of its links are followed" in explained
    verified = command("gossamer", "verify", *place)
    assert verified.returncode == 0, verified.stdout


def test_where_nothing_is_kept_no_place_is_named(web: Web, gossamer: Command) -> None:
    web.site("a.test").page("/")
    ended = gossamer("crawl", web.base_url, "--store", "memory:", "--delay", "0s")
    assert (ended.returncode, "Results" in ended.stderr) == (0, False), ended.stderr


def test_a_seed_need_not_match_an_include_pattern(
    web: Web, command: Command, tmp_path: Path
) -> None:
    """Nor what it redirects to; links and their redirects do."""
    site, base = web.site("a.test"), web.base_url
    site.redirect("/", "/home")
    site.page("/home", ["/docs/1", "/blog"])
    site.page("/docs/1", ["/home"])
    site.page("/blog")
    place = ("--dir", tmp_path / "crawl")
    ended = command("gossamer", "crawl", base, *place, "--delay", "0s", "--include", "/docs/")
    assert ended.returncode == 0, ended.stderr
    asked = [record.path for record in web.requests]
    assert asked == ["/robots.txt", "/", "/home", "/docs/1"]
    assert "accepted by scope host" in command("gossamer", "explain", base, *place).stdout
    assert command("gossamer", "verify", *place).returncode == 0


def test_a_seed_that_is_excluded_contradicts_itself(command: Command, tmp_path: Path) -> None:
    place = ("--dir", tmp_path / "crawl")
    ended = command("gossamer", "crawl", "http://a.test/x", *place, "--exclude", "/x")
    assert ended.returncode == 2
    assert "the seed http://a.test/x is not in scope: exclude" in ended.stderr


def test_a_module_that_takes_its_time_is_not_called_slow(
    web: Web, command: Command, tmp_path: Path
) -> None:
    web.site("a.test").page("/")
    module = tmp_path / "mine.py"
    module.write_text("import time\ndef wait(page): time.sleep(0.3)\n")
    place = ("--dir", tmp_path / "crawl", "--delay", "0s")
    ended = command("gossamer", "crawl", web.base_url, *place, "--module", f"{module}:wait")
    assert f"{module}:wait: 1 page Ended" in " ".join(ended.stderr.split())
    assert "is slow" not in ended.stderr
    assert "gossamer pages" not in ended.stderr, "there is a module"


def test_without_a_module_it_says_how_to_get_the_pages(
    web: Web, command: Command, tmp_path: Path
) -> None:
    web.site("a.test").page("/", text="hello")
    place = ("--dir", tmp_path / "crawl")
    ended = command("gossamer", "crawl", web.base_url, *place, "--delay", "0s")
    told = [line.partition("#")[0].split() for line in ended.stderr.splitlines()]
    (listing,) = [words[1:] for words in told if words[:3] == ["Pages", "gossamer", "pages"]]
    (saving,) = [words for words in told if words[:2] == ["gossamer", "replay"]]
    assert "hello" in command(*listing, "--cat", "1").stdout
    assert command(*saving).returncode == 0
    assert b"hello" in (tmp_path / "crawl" / "pages" / "1").read_bytes()


@pytest.mark.req("D19")
def test_a_server_that_closes_every_connection_is_nothing_to_speak_of(
    gossamer: Command, tmp_path: Path
) -> None:
    """As `python -m http.server` does, the first server that most people try it on."""
    names = [f"{number}.html" for number in range(40)]
    links = "".join(f'<a href="{name}">{name}</a>' for name in names)
    site = tmp_path / "site"
    site.mkdir()
    for name in ("index.html", *names):
        (site / name).write_text(f"<title>{name}</title><p>{name * 20}{links}")
    server = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(
        [*server, "--directory", site],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        assert running.stdout is not None
        base = running.stdout.readline().split("(")[1].split(")")[0]
        ended = gossamer("crawl", base, "--delay", "10ms")
        running.kill()
    said = ended.stderr.splitlines()
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("41  fetched") == 1
    progress = re.compile(r"[0-9.]+m?s  [0-9,]+ of 10,000 pages .*")
    before = said[: next(at for at, line in enumerate(said) if line.startswith("Crawled 41 pages"))]
    assert [line for line in before if line and not progress.fullmatch(line)] == []
