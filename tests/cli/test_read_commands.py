"""The commands that read and do not crawl: `status`, `pages`, `explain`, `verify` and lists."""

import asyncio
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from crawled import crawl_into

from gossamer.cli.main import run
from gossamer.modules.builtin import Save
from gossamer.testing import Web

COMMAND = str(Path(sys.executable).with_name("gossamer"))

HOSTILE = "<title>\x1b]0;mine\x07</title><p>\x1b[2J\t\u202egone".encode()


class Told(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


Gossamer = Callable[..., Told]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl; not to be changed."""
    directory = tmp_path_factory.mktemp("crawls") / "site"
    with Web() as web:
        site = web.site("a.test")
        site.page("/", ["/1", "/old", "/missing", "/hostile"])
        site.page("/1", ["/2"])
        site.redirect("/old", "/1")
        site.page("/hostile", html=HOSTILE)
        asyncio.run(crawl_into(directory, web, "http://a.test/", modules=[Save()], depth=1))
    return directory


@pytest.fixture
def gossamer(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Gossamer:
    """Run the command where the crawl is."""
    monkeypatch.chdir(finished.parent)

    def call(*arguments: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["gossamer", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        out, err = capfdbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Told(ended.value.code, out.decode(), err.decode())

    return call


@pytest.mark.req("F5", "D18")
def test_status(gossamer: Gossamer) -> None:
    told = gossamer("status")
    assert (told.code, told.err) == (0, "")
    assert told.lines[:2] == ["site", "  state       finished: no URLs left"]
    assert "  URLs        0 waiting, 0 in progress, 5 finished, 1 too deep" in told.lines
    assert "  outcomes    3  fetched" in told.lines
    assert "              1  not found" in told.lines
    (status,) = gossamer("status", "--json", "--dir", "site").objects
    assert {"waiting", "in_progress", "finished", "pages", "bytes", "outcomes"} <= set(status)
    assert (status["ended_by"], status["pages"]) == ("complete", 3)
    assert status["outcomes"]["not_found"] == 1
    assert status["workers"] == []


@pytest.mark.req("F5")
def test_pages(gossamer: Gossamer, finished: Path) -> None:
    pages = gossamer("pages", "--json").objects
    assert [page["id"] for page in pages] == [1, 2, 3]
    for page in pages:
        url, depth, body = (finished / "pages" / str(page["id"])).read_bytes().split(b"\n", 2)
        assert (page["url"].encode(), page["depth"]) == (url, int(depth))
        assert (page["outcome"], page["bytes"]) == ("fetched", len(body))
    lines = gossamer("pages").lines
    assert lines[0].split() == ["page", "depth", "bytes", "URL"]
    assert lines[1].split() == ["1", "0", str(pages[0]["bytes"]), "http://a.test/"]
    assert len(lines) == 4


@pytest.mark.req("F5")
@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        (["--all"], {"/", "/1", "/old", "/missing", "/hostile", "/2"}),
        (["--state", "finished"], {"/", "/1", "/old", "/missing", "/hostile"}),
        (["--state", "too-deep"], {"/2"}),
        (["--state", "waiting"], set()),
        (["--state", "in-progress"], set()),
        (["--outcome", "not-found"], {"/missing"}),
        (["--outcome", "not_found"], {"/missing"}),
        (["--outcome", "fetched"], {"/", "/1", "/hostile"}),
        (["--outcome", "fetched", "--state", "too-deep"], set()),
    ],
)
def test_seen_visited_and_frontier(
    gossamer: Gossamer, arguments: list[str], paths: set[str]
) -> None:
    urls = gossamer("pages", *arguments, "--json").objects
    assert {one["url"].removeprefix("http://a.test") for one in urls} == paths
    lines = gossamer("pages", *arguments).lines
    assert lines[0].split() == ["depth", "state", "URL"]
    assert {line.split()[-1].removeprefix("http://a.test") for line in lines[1:]} == paths


@pytest.mark.req("C7", "D10")
def test_a_body_is_written_byte_for_byte(finished: Path) -> None:
    pages = {page.read_bytes().split(b"\n", 2)[2] for page in (finished / "pages").iterdir()}
    bodies = set()
    for number in ("1", "2", "3"):
        command = [COMMAND, "pages", "--cat", number]
        bodies.add(subprocess.run(command, stdout=subprocess.PIPE, cwd=finished, check=True).stdout)
    assert bodies == pages


@pytest.mark.req("D19")
def test_a_terminal_is_not_controlled_by_a_page(gossamer: Gossamer, finished: Path) -> None:
    (hostile,) = [one for one in gossamer("pages", "--json").objects if "hostile" in one["url"]]
    ours, theirs = pty.openpty()
    command = [COMMAND, "pages", "--cat", str(hostile["id"])]
    subprocess.run(command, stdout=theirs, cwd=finished, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert shown == "<title>\\x1b]0;mine\\x07</title><p>\\x1b[2J    \\u202egone\r\n"
    told = gossamer("explain", "http://a.test/hostile")
    assert "\x1b" not in told.out
    assert "titled \\x1b]0;mine\\x07" in told.out


def test_a_body_that_is_not_there(gossamer: Gossamer, finished: Path, tmp_path: Path) -> None:
    told = gossamer("pages", "--cat", "4")
    assert told.code == 1
    assert told.err == "gossamer: there is no page 4: the pages are numbered 1 to 3\n"
    assert gossamer("pages", "--cat", "1" * 30).code == 1
    assert gossamer("pages", "--cat", "1", "--json").code == 2
    copy = Path(shutil.copytree(finished, tmp_path / "copy"))
    with closing(sqlite3.connect(copy / "crawl.sqlite")) as db, db:
        db.execute("DELETE FROM contents")
    told = gossamer("pages", "--cat", "1", "--dir", copy)
    assert told.code == 1
    assert told.err == (
        f"gossamer: the body of page 1 has expired; it was saved as {copy / 'pages' / '1'}\n"
    )


def test_a_reader_that_goes_away_is_no_failure(finished: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [COMMAND, "pages", "--all"]
    ended = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, cwd=finished, check=False
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_a_failure(finished: Path) -> None:
    command = [COMMAND, "status"]
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, cwd=finished, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"gossamer: cannot write to standard output: ")
    assert ended.stderr.count(b"\n") == 1


@pytest.mark.req("B5")
def test_explain(gossamer: Gossamer, finished: Path) -> None:
    told = gossamer("explain", "http://a.test/1?utm_source=x")
    assert (told.code, told.err) == (0, "")
    assert told.lines[:3] == [
        "http://a.test/1?utm_source=x",
        "  known as    http://a.test/1",
        "  state       fetched",
    ]
    assert "  path        0  http://a.test/   seed" in told.lines
    assert "              1  http://a.test/1  link" in told.lines
    for directory in ([], [finished]):
        (found,) = gossamer("explain", "http://a.test/1", *directory, "--json").objects
        assert (found["state"], found["outcome"], found["depth"]) == ("finished", "fetched", 1)


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://a.test/2", "too deep: it is 2 links away from a seed, and --depth is 1"),
        ("http://a.test/3", "no page of the crawl links to it"),
        ("http://b.test/", "would be refused by scope host: b.test is not one of the seeds' hosts"),
        ("http://a.test/missing", "not found: the server answered 404"),
    ],
)
def test_explain_says_why_not(gossamer: Gossamer, url: str, words: str) -> None:
    told = gossamer("explain", url)
    assert told.code == 0
    assert words in told.out


@pytest.mark.req("B1")
def test_verify(gossamer: Gossamer, finished: Path, tmp_path: Path) -> None:
    told = gossamer("verify")
    assert (told.code, told.err) == (0, "")
    assert re.fullmatch(r"site: all \d+ checks passed on 3 pages\n", told.out)
    copy = Path(shutil.copytree(finished, tmp_path / "copy"))
    with closing(sqlite3.connect(copy / "crawl.sqlite")) as db, db:
        db.execute("UPDATE urls SET key = randomblob(16)")
    told = gossamer("verify", "--dir", copy)
    assert told.code == 1
    assert told.lines[0].startswith(f"{copy}: 2 of ")
    assert "  filing: every URL is filed under its own fingerprint and host" in told.lines
    assert "    http://a.test/1 is filed under the key of another URL" in told.lines
    assert "    … and 1 more" in told.lines
    told = gossamer("verify", "--dir", copy, "--json")
    assert told.code == 1
    (found,) = told.objects
    assert (found["sound"], found["complete"]) == (False, True)
    assert {one["rule"]: one["broken"] for one in found["findings"]}["filing"] == 6


def test_config(gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text("depth = 3\nmax-pages = 7\n", encoding="utf-8")
    monkeypatch.setenv("GOSSAMER_DELAY", "2s")
    monkeypatch.setenv("GOSSAMER_PAGERANK_KEY", "hush")
    told = gossamer("config", "http://a.test/", "--config", file, "--max-pages", "5")
    assert told.code == 0
    rows = {line.split()[0]: line.split()[1:] for line in told.lines}
    assert rows["seeds"] == ["http://a.test/", "SEED"]
    assert rows["max-pages"] == ["5", "--max-pages"]
    assert rows["depth"] == ["3", *f"{file}, line 1".split()]
    assert rows["delay"] == ["2s", "GOSSAMER_DELAY"]
    assert rows["revisit"] == ["never", "default"]
    assert rows["keep"] == ["auto", "default"]
    assert "hush" not in told.out
    settings = {one["name"]: one for one in gossamer("config", "--json").objects}
    assert settings["delay"]["value_text"] == "2s"


def test_modules_and_scorers(gossamer: Gossamer) -> None:
    modules = gossamer("modules")
    assert modules.lines[0].split() == ["module", "from", "options", "what", "it", "does"]
    assert [line.split()[0] for line in modules.lines[1:3]] == ["noop", "save"]
    assert gossamer("modules", "--json").objects[0]["name"] == "noop"
    assert any(
        line.startswith("depth  ") and " strict " in line for line in gossamer("scorers").lines
    )
    names = {one["name"] for one in gossamer("scorers", "--json").objects}
    assert {"depth", "fifo", "importance", "page-number", "pagerank"} <= names


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["status", "--dir", "nowhere"],
            "there is no crawl in nowhere: 'gossamer crawls' lists those around here",
        ),
        (["status", "a", "b"], "'b' cannot be used here: leave it out. See"),
        (["explain", "a.test"], "did you mean 'http://a.test'?"),
        (["explain"], "gossamer: URL is missing. See 'gossamer explain --help'."),
        (["replay", "a"], "gossamer: --module is missing. See 'gossamer replay --help'."),
        (["explian"], "See 'gossamer --help'."),
        (["pages", "--state", "lost"], "waiting"),
        (["pages", "--outcome", "eaten"], "there is no outcome 'eaten': name one of address_ref"),
        (["export", "-o", "-"], "-o writes to files, directories or s3://, not to standard output"),
        (["export", "-o"], "-o needs a value."),
        (["export", "a", "-o", "a.html", "--fields", "url"], "no output here is a table"),
        (
            ["crawl", "http://a.test", "-o", "a.html", "--fields", "url"],
            "no output here is a table",
        ),
        (["crawl", "http://a.test", "--delay", "-5s"], "--delay cannot be negative, as -5s is."),
        (["pages", "--cat", "x"], "--cat"),
        (["config", "--max-pages", "many"], "must be a whole number"),
    ],
)
def test_wrong_use_is_one_line(gossamer: Gossamer, arguments: list[str], words: str) -> None:
    told = gossamer(*arguments)
    assert (told.code, told.out) == (2, "")
    assert words in told.err
    assert told.err.count("\n") == 1
