"""Modules in a crawl: they see every page, and cannot harm it."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled

from gossamer import Page
from gossamer.config import load
from gossamer.coordinator.crawl import Crawl as OneCrawl
from gossamer.coordinator.observer import Silence
from gossamer.coordinator.plan import Plan
from gossamer.modules.contract import ModuleContext
from gossamer.modules.loading import as_module
from gossamer.modules.module_stats import ModuleReport
from gossamer.testing import Web

Crawl = Callable[..., Crawled]

PAGES = 12


@pytest.fixture
def seed(web: Web) -> str:
    """Return the home of a small site."""
    site = web.site("a.test")
    site.page("/", links=[f"/{number}" for number in range(1, PAGES)], title="Home")
    for number in range(1, PAGES):
        site.page(f"/{number}", links=["/", "http://b.test/"], title=f"Page {number}")
    return "http://a.test/"


def report(crawled: Crawled, name: str) -> ModuleReport:
    return next(one for one in crawled.summary.modules if one.name.endswith(name))


@pytest.mark.req("D12", "D1")
def test_a_function_an_object_and_a_coroutine_see_every_page(
    crawl: Crawl, seed: str, tmp_path: Path
) -> None:
    seen: dict[str, list[Page]] = {"function": [], "object": [], "coroutine": []}
    steps: list[str] = []

    def function(page: Page) -> None:
        seen["function"].append(page)

    async def coroutine(page: Page) -> None:
        await asyncio.sleep(0.001)
        seen["coroutine"].append(page)

    class Thing:
        def open(self, context: ModuleContext) -> None:
            steps.append(f"open in {context.directory.name}")

        def page(self, page: Page) -> None:
            seen["object"].append(page)

        def close(self) -> None:
            steps.append(f"close after {len(seen['object'])}")

    crawled = crawl(seed, modules=[function, coroutine, Thing()], workers=3, host_connections=3)
    assert steps == ["open in crawl", f"close after {PAGES}"]
    for pages in seen.values():
        assert sorted(page.id for page in pages) == list(range(1, PAGES + 1))
    home = next(page for page in seen["function"] if page.url == seed)
    assert (home.depth, home.status, home.title) == (0, 200, "Home")
    assert home.links[0] == "http://a.test/1"
    assert home.text.startswith("Home")
    assert home.body.startswith(b"<!doctype html>")
    assert [one.pages for one in crawled.summary.modules] == [PAGES] * 4
    assert (tmp_path / "crawl").is_dir()


@pytest.mark.req("D12", "D19")
def test_a_module_that_fails_is_named_and_counted_and_stops_nothing(
    crawl: Crawl, seed: str
) -> None:
    def fragile(page: Page) -> None:
        if page.id % 2:
            raise ValueError(f"cannot stand {page.id}")

    async def hasty(_page: Page) -> None:
        raise SystemExit(3)

    class Unclosable:
        def page(self, page: Page) -> None:
            pass

        def close(self) -> None:
            raise OSError("no space left")

    crawled = crawl(seed, modules=[fragile, hasty, Unclosable()])
    assert crawled.summary.ended_by == "complete"
    assert crawled.summary.snapshot.pages == PAGES
    assert report(crawled, "fragile").errors == PAGES // 2
    assert "cannot stand" in (report(crawled, "fragile").last_error or "")
    assert report(crawled, "hasty").errors == PAGES
    assert report(crawled, "Unclosable").pages == PAGES
    assert "no space left" in (report(crawled, "Unclosable").last_error or "")


@pytest.mark.req("D12", "D19")
def test_a_module_that_takes_its_time_loses_no_page_and_is_not_called_slow(
    crawl: Crawl, seed: str
) -> None:
    seen: list[int] = []

    def slow(page: Page) -> None:
        if page.id == 2:
            time.sleep(0.15)
        seen.append(page.id)

    crawled = crawl(seed, modules=[slow], host_connections=4)
    assert sorted(seen) == list(range(1, PAGES + 1))
    assert report(crawled, "slow").slow == 0


@pytest.mark.req("D12", "D19")
def test_a_module_that_never_returns_is_left_alone(web: Web, seed: str) -> None:
    async def stuck(page: Page) -> None:
        if page.id == 2:
            await asyncio.sleep(3600)

    options = load(
        {
            "seeds": (seed,),
            "delay": "0s",
            "store": "memory:",
            "allow_network": ("127.0.0.1",),
        },
        {},
    ).options
    crawl = OneCrawl(Plan(options), [as_module(stuck)], Silence(), dns=web.dns, module_limit_s=0.2)
    summary = asyncio.run(crawl.run())
    assert summary.ended_by == "complete"
    assert summary.snapshot.pages == PAGES
    (told,) = summary.modules
    assert (told.timed_out, told.pages) == (1, PAGES - 1)


@pytest.mark.req("D12")
def test_only_what_was_found_worth_keeping_is_shown(web: Web, crawl: Crawl, seed: str) -> None:
    site = web.site("a.test")
    site.page("/1", links=["/missing", "/moved", "/image"])
    site.redirect("/moved", "/2")
    site.page("/image", html=b"\x89PNG\r\n\x1a\n\0\0\0")
    crawled = crawl(seed)
    assert {page.url for page in crawled.pages} == {seed, *(f"{seed}{n}" for n in range(1, PAGES))}


@pytest.mark.req("C7", "D12")
@pytest.mark.parametrize("workers", [1, 4])
def test_saved_pages_are_numbered_whole_and_of_the_right_depth(
    crawl: Crawl, seed: str, tmp_path: Path, workers: int
) -> None:
    crawled = crawl(seed, modules=["save"], workers=workers, host_connections=4)
    files = {int(file.name): file for file in (tmp_path / "crawl" / "pages").iterdir()}
    assert sorted(files) == list(range(1, PAGES + 1))
    for page in crawled.pages:
        url, depth, body = files[page.id].read_bytes().split(b"\n", 2)
        assert url.decode() == page.url
        assert int(depth) == crawled.urls[page.url].depth
        assert body == page.body


@pytest.mark.req("D12", "D1")
def test_on_the_command_line_such_an_end_is_exit_code_1(
    web: Web, seed: str, tmp_path: Path
) -> None:
    """And the same command again goes on, with the page that was not taken."""
    module = tmp_path / "mine.py"
    module.write_text(
        "from pathlib import Path\n"
        "from gossamer import CrawlError, Page\n"
        "def take(page: Page) -> None:\n"
        "    with Path('taken').open('a') as file:\n"
        "        print(page.id, page.url, file=file)\n"
        "    if page.id == 5 and not Path('room').exists():\n"
        "        raise CrawlError('the disk is full')\n"
    )
    command = [
        *(str(Path(sys.executable).with_name("gossamer")), "crawl", web.base_url),
        *("--dir", "crawl", "--delay", "0s", "--module", "./mine.py:take", "--workers", "2"),
    ]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    failed = run()
    assert failed.returncode == 1
    assert "the disk is full" in failed.stderr
    assert "Traceback" not in failed.stderr
    (tmp_path / "room").touch()
    assert run().returncode == 0
    taken = [line.split() for line in (tmp_path / "taken").read_text().splitlines()]
    assert [number for number, _ in taken] == [str(n) for n in (*range(1, 6), *range(5, PAGES + 1))]
    assert taken[4] == taken[5], "the same page under the same number"


TOLD = """
from pathlib import Path
class Told:
    known_options = ("words", "limit")
    def open(self, context):
        self.file = Path(f"told-{context.worker}").open("a")
        print("open", sorted(context.options.items()), file=self.file, flush=True)
    def page(self, page): ...
class ToldInOnePlace(Told):
    in_coordinator = True
    def prepare(self, context):
        Path("prepared").write_text(context.options["words"])
"""


@pytest.mark.req("D12", "D1")
def test_options_reach_a_module_wherever_it_runs(web: Web, seed: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TOLD)
    (tmp_path / "crawl.toml").write_text(
        'module = ["./mine.py:Told:words=a,b,limit=3", "./mine.py:ToldInOnePlace:words=c",'
        ' "save:folder=html"]'
    )
    gossamer = str(Path(sys.executable).with_name("gossamer"))
    command = [gossamer, "crawl", web.base_url, "--dir", "crawl", "--delay", "0s"]
    command += ["--config", "crawl.toml", "--workers", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    told = sorted((tmp_path / "told-0").read_text().splitlines())
    assert told == ["open [('limit', '3'), ('words', 'a,b')]", "open [('words', 'c')]"]
    assert (tmp_path / "prepared").read_text() == "c"
    assert len(list((tmp_path / "crawl" / "html").glob("[0-9]*"))) == PAGES
    assert "save:folder=html: 12 pages" in done.stderr
    verified = [gossamer, "verify", "--dir", "crawl"]
    subprocess.run(verified, cwd=tmp_path, capture_output=True, check=True)
    (tmp_path / "crawl" / "html" / "3").write_text("spoilt")
    assert subprocess.run(verified, cwd=tmp_path, capture_output=True, check=False).returncode == 1
