"""Seeds from files and from standard input, as people give them."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.testing import Web

GOSSAMER = str(Path(sys.executable).with_name("gossamer"))
PATIENCE_S = 40


class SeedBench:
    """A site whose every page below /private is forbidden, so that URLs end quickly."""

    def __init__(self, web: Web, folder: Path) -> None:
        self.folder = folder
        self.host, port = web.address
        self.root = f"http://{self.host}:{port}"
        site = web.site(f"{self.host}:{port}")
        site.robots("User-agent: *\nDisallow: /private")
        for path in ("/one", "/two", "/three"):
            site.page(path, links=["/linked"])
        site.page("/linked")

    def words(self, *more: str) -> list[str]:
        own = ("--delay", "0s", "--host-connections", "40", "--allow-network", self.host)
        return [GOSSAMER, "crawl", *own, "--similarity", "off", *more]

    def run(self, *more: str, given: str | None = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.words(*more),
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def file(self, *lines: str, name: str = "list.txt") -> str:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))
        return name

    def gossamer(self, *words: str) -> str:
        done = subprocess.run(
            [GOSSAMER, *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    def urls(self, directory: str) -> dict[str, tuple[int, float | None]]:
        """Return depth and given score of every URL."""
        with closing(sqlite3.connect(self.folder / directory / "crawl.sqlite")) as db:
            rows = db.execute("SELECT url, depth, given_score FROM urls").fetchall()
        return {url.removeprefix(self.root): (depth, score) for url, depth, score in rows}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[SeedBench]:
    with Web() as web:
        yield SeedBench(web, tmp_path)


def test_seeds_with_depth_and_score_and_bad_lines(bench: SeedBench) -> None:
    name = bench.file(
        "# what matters",
        f"{bench.root}/one",
        "",
        "nonsense",
        f"{bench.root}/two 2 80",
        f"{bench.root}/three\t-\t5 # soon",
        f"{bench.root}/four 0 1000",
        f"{bench.root}/five 3",
    )
    done = bench.run("--seeds", name, "--depth", "2")
    assert done.returncode == 0, done.stderr
    assert "list.txt, line 4: the seed URL 'nonsense' has no scheme" in done.stderr
    assert "list.txt, line 7: the score '1000' is not a number" in done.stderr
    assert "4 seeds read from list.txt, 1 of them deeper than --depth, 2 bad" in done.stderr
    assert bench.urls("list-crawl") == {
        "/one": (0, None),
        "/two": (2, 80.0),
        "/three": (0, 5.0),
        "/five": (3, None),
        "/linked": (1, None),
    }
    assert "all 42 checks passed" in bench.gossamer("verify", "--dir", "list-crawl")
    (bench.folder / name).unlink()  # it is not needed any more
    assert "this crawl is finished" in bench.gossamer("resume", "list-crawl")


@pytest.mark.parametrize("scope", ["host", "any"])
def test_standard_input(bench: SeedBench, scope: str) -> None:
    lines = f"{bench.root}/one\n{bench.root}/two\n"
    done = bench.run("--seeds", "-", "--scope", scope, given=lines)
    assert done.returncode == 0, done.stderr
    assert "2 seeds read from standard input" in done.stdout + done.stderr
    assert bench.urls("seeds-crawl").keys() == {"/one", "/two", "/linked"}


@pytest.mark.parametrize("scope", ["host", "any"])
def test_a_named_pipe(bench: SeedBench, scope: str) -> None:
    pipe = bench.folder / "pipe"
    os.mkfifo(pipe)
    words = bench.words("--seeds", "pipe", "--scope", scope)
    with subprocess.Popen(words, cwd=bench.folder, stderr=subprocess.PIPE, text=True) as running:
        try:
            fd = os.open(pipe, os.O_WRONLY)  # as soon as it is read
            os.write(fd, f"{bench.root}/one\n".encode())
            os.write(fd, f"{bench.root}/two\n".encode())
            os.close(fd)
            _, said = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    assert (running.returncode, "2 seeds read from pipe" in said) == (0, True), said
    assert bench.urls("pipe-crawl").keys() == {"/one", "/two", "/linked"}


@pytest.mark.parametrize("scope", ["host", "any"])
def test_a_crawl_ends_although_standard_input_is_silent(bench: SeedBench, scope: str) -> None:
    words = bench.words("--seeds", "-", "--scope", scope, "--max-time", "500ms")
    with subprocess.Popen(
        words, cwd=bench.folder, text=True, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        try:
            assert running.wait(PATIENCE_S) == 0
            assert running.stderr is not None
            said = running.stderr.read()
        finally:
            running.kill()
    assert "--max-time" in said
    assert "Fatal" not in said


@pytest.mark.parametrize("scope", ["host", "any"])
def test_no_seed_at_all_is_an_error(bench: SeedBench, scope: str) -> None:
    done = bench.run("--seeds", bench.file("a", "b"), "--scope", scope)
    assert done.returncode == 2
    assert "no line of list.txt is a seed; list.txt, line 1: the seed URL 'a' has no" in done.stderr
    bench.file(f"{bench.root}/one")
    assert bench.run("--seeds", "list.txt", "--scope", scope).returncode == 0


def test_a_crawl_goes_on_only_in_the_file_that_it_was_reading(bench: SeedBench) -> None:
    """It was killed when it had read the last line, which has no end."""
    name = bench.file(f"{bench.root}/one", f"{bench.root}/two")
    lines = (bench.folder / name).read_text()
    (bench.folder / name).write_text(lines.rstrip())
    assert bench.run("--seeds", name, "--scope", "any", "--max-pages", "1").returncode == 0
    with closing(sqlite3.connect(bench.folder / "list-crawl" / "crawl.sqlite")) as db, db:
        undone = "CAST(replace(value, 'is_done\":true', 'is_done\":false') AS BLOB)"
        db.execute(f"UPDATE notes SET value = {undone} WHERE name = 'seeds'")  # noqa: S608
    again = ("resume", "list-crawl", "--max-pages", "10")
    (bench.folder / name).write_text("short")
    assert "list.txt is not the file of which 2 lines were read" in bench.gossamer(*again)
    (bench.folder / name).write_text(lines.rstrip())
    assert "finished: no URLs left" in bench.gossamer(*again)


def test_a_file_that_is_not_there_leaves_nothing_behind(bench: SeedBench) -> None:
    done = bench.run("--seeds", "missing.txt")
    assert done.returncode == 2
    assert "cannot read the seeds in missing.txt: No such file" in done.stderr
    assert list(bench.folder.iterdir()) == []


def test_a_list_opens_no_private_address(bench: SeedBench) -> None:
    words = [GOSSAMER, "crawl", "--seeds", bench.file(f"{bench.root}/one"), "--retries", "0"]
    done = subprocess.run(words, cwd=bench.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "not on the public internet" in done.stdout + done.stderr


def test_after_a_kill_the_rest_of_the_file_is_read(bench: SeedBench) -> None:
    count = 8_000
    name = bench.file(*(f"{bench.root}/private/{number}" for number in range(count)))
    words = bench.words("--seeds", name, "--scope", "any", "--url-queue", "500", "--workers", "1")
    running = subprocess.Popen(
        words, cwd=bench.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    database = bench.folder / "list-crawl" / "crawl.sqlite"
    lines = 0
    deadline = time.monotonic() + PATIENCE_S
    while not lines and time.monotonic() < deadline:
        if database.exists():
            lines = lines_read(database)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert 0 < (before := lines_read(database)) < count
    status = json.loads(bench.gossamer("status", "--dir", "list-crawl", "--json"))
    assert status["ended_by"] is None
    assert status["seeds"]["files"][0]["lines"] == before
    elsewhere = bench.folder / "elsewhere"  # the file is found again from there
    elsewhere.mkdir()
    done = subprocess.run(
        [GOSSAMER, "resume", "../list-crawl"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert f"{count:,} seeds read from list.txt" in done.stdout + done.stderr
    with closing(sqlite3.connect(database)) as db:
        known, ids = db.execute("SELECT count(*), max(id) FROM urls").fetchone()
    assert known == ids == count
    assert "checks passed" in bench.gossamer("verify", "--dir", "list-crawl")


def lines_read(database: Path) -> int:
    """Return how many lines are durably known to be read."""
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT value FROM notes WHERE name = 'seeds'").fetchone()
    except sqlite3.Error:
        return 0
    return int(json.loads(row[0])["files"][0]["lines"]) if row else 0


def test_in_a_shared_store(bench: SeedBench, redis_url: str) -> None:
    name = bench.file(f"{bench.root}/one 1 7", f"{bench.root}/two", "junk")
    done = bench.run("--seeds", name, "--store", redis_url, "--name", "seed-files", "--fresh")
    assert done.returncode == 0, done.stderr
    assert "2 seeds read from list.txt, 1 bad line skipped" in done.stdout + done.stderr
    where = ("--store", redis_url, "--name", "seed-files")
    assert "checks passed" in bench.gossamer("verify", *where)
    found = bench.gossamer("explain", f"{bench.root}/one", *where)
    assert "score       7" in found
    assert "scope host" in found


def test_the_scope_of_a_rule_is_around_seeds_in_files_too(bench: SeedBench) -> None:
    """The rule has another kind of scope than the crawl, and none of its seeds elsewhere."""
    rule = f'[host."{bench.host}"]\nscope = "prefix"\n'
    (bench.folder / "gossamer.toml").write_text(rule)
    name = bench.file(f"{bench.root}/one")
    done = bench.run("--seeds", name, "--config", "gossamer.toml", "--scope", "any")
    assert done.returncode == 0, done.stderr
    assert bench.urls("list-crawl").keys() == {"/one", "/linked"}
    assert "all 42 checks passed" in bench.gossamer("verify", "--dir", "list-crawl")
