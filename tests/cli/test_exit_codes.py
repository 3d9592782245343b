"""What the commands exit with, and what they say about it."""

import asyncio
import json
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from forked_commands import Finished
from tests.cli.conftest import Command

import gossamer
from gossamer.model import Cause
from gossamer.testing import KeepOpen, Raw, Web

Crawl = Callable[..., Finished]


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The options that name a store, for the crawl and for whoever reads it."""
    if request.param == "sqlite":
        return ["--dir", str(tmp_path / "crawl")]
    url = request.getfixturevalue("redis_url")
    return ["--store", url, "--name", f"test-{secrets.token_hex(4)}"]


@pytest.fixture
def crawl(command: Command, store: list[str]) -> Crawl:
    def run(*arguments: object) -> Finished:
        return command("gossamer", "crawl", *arguments, *store, "--delay", "0s", "--workers", "1")

    return run


@pytest.fixture
def export(command: Command, store: list[str]) -> Crawl:
    return lambda *arguments: command("gossamer", "export", *arguments, *store)


def test_a_host_that_goes_down_is_named_with_what_helps(
    web: Web, crawl: Crawl, command: Command, store: list[str]
) -> None:
    nobody = f"http://127.0.0.9:{web.address[1]}"
    web.site("a.test").page("/", links=[f"{nobody}/{number}" for number in range(5)])
    allowed = ["--allow-network", "127.0.0.0/8", "--ignore-robots", "127.0.0.9"]
    ended = crawl(web.base_url, "--scope", "any", *allowed)
    assert ended.returncode == 0, "no URLs are left"
    said = " ".join(ended.stderr.split())
    refused = str(Cause.CONNECTION_REFUSED)
    status = json.loads(command("gossamer", "status", *store, "--json").stdout)
    (host,) = status["given_up"]
    urls = status["outcomes"]["gave_up"]
    assert host == {"host": "127.0.0.9", "urls": urls, "at": host["at"], "reason": refused}
    assert status["started_at"] < host["at"] <= status["last_at"]
    cause = {"outcome": "gave_up", "cause": refused, "status": None, "urls": urls}
    assert cause in status["causes"]
    assert f"{urls} gave up: {refused}; gossamer retry asks again" in said
    assert f"finished: no URLs left; {urls} URLs given up" in said
    assert f"with {urls} URLs left: {refused}" in said
    retry = f"gossamer retry {' '.join(store).removeprefix('--dir ')}"
    assert f"Continue with {retry}" in said
    assert status["retry_with"] == retry
    shown = " ".join(command("gossamer", "status", *store).stdout.split())
    assert f"no URLs left; {urls} URLs given up" in shown
    assert "given up 127.0.0.9 at 2" in shown
    assert f"ask again {retry}" in shown


def test_without_a_seed_it_is_3_and_each_has_its_reason(
    web: Web, crawl: Crawl, command: Command, store: list[str]
) -> None:
    site, base = web.site("a.test"), web.base_url.rstrip("/")
    site.status("/login", 401, {"WWW-Authenticate": 'Basic realm="staff"'})
    site.status("/closed", 403)
    site.redirect("/from", "/to")
    site.redirect("/to", "/from")
    seeds = [f"{base}/login", f"{base}/closed", f"{base}/from", f"{base}/missing"]
    ended = crawl(*seeds)
    assert ended.returncode == 3
    said = " ".join(ended.stderr.split())
    assert "none of 4 fetched" in said
    assert f"{seeds[0]}: the server refused the request (401 Unauthorized)" in said
    assert "WWW-Authenticate: 'Basic realm=\"staff\"'" in said
    assert f"{seeds[1]}: the server refused the request (403 Forbidden)" in said
    assert f"{seeds[2]}: " in said
    assert "in a circle" in said
    assert "client error: 401 Unauthorized (1), 403 Forbidden (1)" in said
    assert "Ended no seed could be fetched" in said
    quiet = crawl(*seeds, "--quiet")
    assert quiet.returncode == 3, "it counts as a whole"
    assert quiet.stderr.startswith("gossamer: error: no seed could be fetched\n")
    written = crawl(*seeds, "--log-format", "json").stderr.splitlines()
    summary = json.loads(written[-1])
    assert summary["exit_code"] == 3
    assert {one["url"]: one["outcome"] for one in summary["seeds"]["failed"]} == {
        seeds[0]: "client_error",
        seeds[1]: "client_error",
        seeds[2]: "redirected",
        seeds[3]: "not_found",
    }
    status = json.loads(command("gossamer", "status", "--json", *store).stdout)
    assert (status["seeds"], status["causes"]) == (summary["seeds"], summary["causes"])
    assert "none of 4 fetched" in command("gossamer", "status", *store).stdout


def test_one_seed_is_enough_and_a_redirect_counts_as_its_target(web: Web, crawl: Crawl) -> None:
    site, base = web.site("a.test"), web.base_url.rstrip("/")
    site.redirect("/old", "/new")
    site.redirect("/new", "/newest")
    site.page("/newest")
    ended = crawl(f"{base}/old", f"{base}/missing")
    assert ended.returncode == 0
    said = " ".join(ended.stderr.split())
    assert f"Seeds 1 of 2 fetched {base}/missing: the server answered 404; check the path" in said
    assert crawl(f"{base}/old", f"{base}/missing").returncode == 0, "nothing was left to do"


def test_too_large_pages_are_told_with_their_limit(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", ["/large"])
    site.page("/large", text="x" * 5000)
    ended = crawl(web.base_url, "--max-page-bytes", "2kB")
    assert ended.returncode == 0
    assert "1  too large: over 2.0 kB; raise --max-page-bytes" in ended.stderr


MODULES = """\
def failing(page):
    raise ValueError("never")
def choosy(page):
    if page.id > 1:
        raise ValueError("not this one")
class Unclosed:
    def page(self, page): pass
    def close(self): raise OSError("no room")
def formless(page):
    return {"x": object()}
def counting(page):
    return page.id
def spoiling(page):
    yield "no record"
class Chooser:
    def links(self, page, links): return 5
class Ender:
    def finished(self, result): return {1, 2}
class Failures:
    def finished(self, result): return None if result.page_id else 5
def half(page):
    return {"id": page.id, "x": object() if page.id == 1 else 0}
"""


@pytest.mark.parametrize(
    ("module", "code", "words"),
    [
        ("failing", 4, "module {} failed on every page"),
        ("choosy", 0, "finished: no URLs left"),
        ("Unclosed", 4, "module {} could not be closed"),
        ("formless", 4, "module {} failed on every page"),
        ("counting", 4, "module {} failed on every page"),
        ("spoiling", 4, "module {} failed on every page"),
        ("Chooser", 4, "module {} failed at the links of every page"),
        ("Ender", 4, "module {} failed at the end of every URL"),
        ("half", 0, "finished: no URLs left"),
    ],
)
def test_a_module_that_failed_on_every_page_is_4(
    web: Web, command: Command, tmp_path: Path, module: str, code: int, words: str
) -> None:
    site = web.site("a.test")
    site.page("/", ["/1"])
    site.page("/1")
    name = f"{tmp_path / 'mine.py'}:{module}"
    (tmp_path / "mine.py").write_text(MODULES)
    usual = ("--dir", tmp_path / "crawl", "--delay", "0s", "--workers", "1")
    ended = command("gossamer", "crawl", web.base_url, *usual, "--module", name)
    assert ended.returncode == code, ended.stderr
    assert words.format(name) in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    "expected",
    [
        ("formless", []),
        ("counting", []),
        ("spoiling", []),
        ("Ender", []),
        ("Failures", []),
        ("half", ["id,x", "2,0"]),
    ],
)
def test_records_that_are_refused_never_leave_a_table_of_pages(
    web: Web,
    crawl: Crawl,
    export: Crawl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: tuple[str, list[str]],
) -> None:
    """Also if it is made later, from the store."""
    module, rows = expected
    monkeypatch.chdir(tmp_path)
    site = web.site("a.test")
    site.page("/", ["/1", "/missing"])
    site.page("/1")
    (tmp_path / "mine.py").write_text(MODULES)
    name = f"{tmp_path / 'mine.py'}:{module}"
    crawl(web.base_url, "--module", name, "-o", tmp_path / "records.csv")
    export("-o", tmp_path / "exported.csv")
    for one in ("records.csv", "exported.csv"):
        assert (tmp_path / one).read_text().splitlines() == rows
    fields = ("--fields", "url,id", "-o", tmp_path / "pages.csv")
    crawl(web.base_url, "--module", name, *fields, "--fresh")
    assert len((tmp_path / "pages.csv").read_text().splitlines()) == 3, "it was asked for pages"


def test_who_interrupts_it_before_the_seed_is_there_gets_130(web: Web, tmp_path: Path) -> None:
    web.site("a.test").reply("/", Raw([KeepOpen()]))
    command = [str(Path(sys.executable).with_name("gossamer")), "crawl", web.base_url]
    words = [*command, "--dir", str(tmp_path / "crawl"), "--timeout", "1s"]
    run = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    web.wait_for_requests(2, 20.0)  # robots.txt comes first
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=20)
    assert run.returncode == 130, said
    assert "no seed could be fetched" not in said


def test_from_python_the_same_is_told(web: Web) -> None:
    web.site("a.test").status("/", 403)

    async def run() -> None:
        summary = await gossamer.crawl(web.base_url)
        assert summary.exit_code == 3
        (seed,) = summary.seeds.failed
        assert seed.outcome is gossamer.Outcome.CLIENT_ERROR
        with pytest.raises(gossamer.NoSeedFetchedError, match="403 Forbidden") as raised:
            await anext(gossamer.pages(web.base_url))
        assert raised.value.reasons == {f"{web.base_url}/": seed.reason}

    asyncio.run(run())
