"""Crawls in a program that has no event loop."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import gossamer
from gossamer import CrawlError, Page, UsageError
from gossamer.testing import Reply, Web

SEED = "http://a.test/"
PAGES = 20


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as running:
        site = running.site("a.test")
        site.page("/", links=[f"/{number}" for number in range(1, PAGES)])
        for number in range(1, PAGES):
            site.reply(f"/{number}", Reply(body=f"page {number}"))
        yield running


@pytest.fixture
def options(web: Web) -> Iterator[dict[str, Any]]:
    """What a crawl of the web needs, and an eye on the threads that it leaves behind."""
    before = threading.active_count()
    yield {"dns": web.dns, "allow_network": ["127.0.0.1"], "delay": 0}
    assert threading.active_count() == before


def test_crawl(options: dict[str, Any]) -> None:
    seen: list[Page] = []
    summary = gossamer.crawl_sync(SEED, module=seen.append, **options)
    assert (summary.ended_by, summary.snapshot.pages, len(seen)) == ("complete", PAGES, PAGES)


def test_read_the_pages(options: dict[str, Any]) -> None:
    pages = list(gossamer.pages_sync(SEED, **options))
    assert sorted(page.id for page in pages) == list(range(1, PAGES + 1))


def test_to_stop_reading_ends_the_crawl(
    web: Web, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    for number, _ in enumerate(gossamer.pages_sync(SEED, **options), start=1):
        if number == 3:
            break
    assert len(web.requests_to("a.test")) <= 5, "robots.txt, three pages, and perhaps the next"
    assert caplog.text == "", "a reader who leaves has not failed"


def test_an_error_comes_out_where_the_pages_are_read(options: dict[str, Any]) -> None:
    def full(page: Page) -> None:
        if page.id == 3:
            raise CrawlError("the disk is full")

    with pytest.raises(CrawlError, match="the disk is full"):
        list(gossamer.pages_sync(SEED, module=full, **options))
    with pytest.raises(UsageError, match="is not a duration"):
        next(gossamer.pages_sync(SEED, **{**options, "delay": "fast"}))


def test_inside_an_event_loop_it_says_what_to_write_instead() -> None:
    async def program() -> None:
        with pytest.raises(UsageError, match=r"write 'await gossamer\.crawl"):
            gossamer.crawl_sync(SEED)
        with pytest.raises(UsageError, match=r"write 'async for page in gossamer\.pages"):
            gossamer.pages_sync(SEED)

    asyncio.run(program())


PROGRAM = """
import json, sys
import gossamer

seed, options, form = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
print("begun", flush=True)
try:
    if form == "crawl":
        gossamer.crawl_sync(seed, **options)
    else:
        for page in gossamer.pages_sync(seed, **options):
            print(page.id, flush=True)
            if form == "left":
                held = gossamer.pages_sync(seed, **options)
                next(held)
                sys.exit(0)
except KeyboardInterrupt:
    print("interrupted")
"""


def program(web: Web, form: str) -> subprocess.Popen[str]:
    options = {"dns": dict(web.dns), "allow_network": ["127.0.0.1"], "delay": "0s"}
    command = [sys.executable, "-c", PROGRAM, SEED, json.dumps(options), form]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True)


@pytest.mark.parametrize("form", ["crawl", "pages"])
def test_ctrl_c_ends_it(web: Web, form: str) -> None:
    web.site("a.test").reply("/", Reply(body="<a href=1>1</a>"))
    web.site("a.test").reply("/1", Reply(body="late", delay_s=30))
    with program(web, form) as running:
        web.wait_for_requests(3)
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=20)
    assert output.endswith("interrupted\n")
    assert errors == ""


def test_a_program_may_end_with_a_crawl_half_read(web: Web) -> None:
    with program(web, "left") as running:
        output, errors = running.communicate(timeout=20)
    assert (output, errors, running.returncode) == ("begun\n1\n", "", 0)
