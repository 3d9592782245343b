"""Gossamer inside another program."""

import asyncio
import gc
import re
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
import uvloop
from turbohtml import Document

import gossamer
from gossamer import CrawlError, CrawlOptions, Event, EventKind, Outcome, Page, Response, UsageError
from gossamer.content import html_tree as tree
from gossamer.coordinator.crawl import Crawl
from gossamer.testing import KeepOpen, Reply, Web, traffic_of

Run: TypeAlias = Callable[[Coroutine[object, object, None]], None]
Options: TypeAlias = dict[str, Any]

PAGES = 30
DESCRIPTORS = Path("/proc/self/fd")


@pytest.fixture(scope="module")
def _warm() -> None:
    """Let the libraries open what they keep open for the life of the process."""
    with Web() as web:
        web.site("a.test").page("/")
        asyncio.run(
            gossamer.crawl("http://a.test/", dns=web.dns, allow_network=["127.0.0.1"], delay="0s")
        )


@pytest.fixture
def web(_warm: None) -> Iterator[Web]:
    """A web of two hosts, and an eye on what its crawls leave open."""
    before = _open_descriptors()
    with Web() as running:
        for name in ("a.test", "b.test"):
            site = running.site(name)
            site.page("/", links=[f"/{number}" for number in range(1, PAGES)])
            for number in range(1, PAGES):
                site.reply(f"/{number}", Reply(body=f"{name} {number}", delay_s=0.001))
        yield running
    gc.collect()
    assert _open_descriptors() <= before


def _open_descriptors() -> int:
    return len(list(DESCRIPTORS.iterdir())) if DESCRIPTORS.is_dir() else 0


@pytest.fixture
def options(web: Web) -> Options:
    """What a crawl of the web needs to be told."""
    return {"dns": web.dns, "allow_network": ["127.0.0.1"], "delay": "0s"}


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a program, and see that it leaves no task behind."""

    async def tidy(program: Coroutine[object, object, None]) -> None:
        await program
        assert asyncio.all_tasks() == {asyncio.current_task()}

    return lambda program: request.param(tidy(program))


def test_await_a_crawl(run: Run, options: Options) -> None:
    async def program() -> None:
        seen: list[Page] = []
        summary = await gossamer.crawl("http://a.test/", module=seen.append, **options)
        assert summary.ended_by == "complete"
        assert len(seen) == summary.snapshot.pages == PAGES

    run(program())


def test_read_the_pages_as_they_come(run: Run, options: Options) -> None:
    async def program() -> None:
        pages = [page async for page in gossamer.pages("http://a.test/", **options)]
        assert sorted(page.id for page in pages) == list(range(1, PAGES + 1))
        assert pages[0].url == "http://a.test/"

    run(program())


def test_options_may_be_an_object(web: Web, run: Run) -> None:
    options = CrawlOptions(allow_network=("127.0.0.1",), delay_s=0.0, max_pages=3)

    async def program() -> None:
        summary = await gossamer.crawl("http://a.test/", options=options, dns=web.dns)
        assert (summary.ended_by, summary.snapshot.pages) == ("max-pages", 3)

    run(program())


def test_options_are_an_object_or_keywords() -> None:
    options = CrawlOptions(seeds=("http://a.test/",))
    with pytest.raises(UsageError, match=r"max_pages=… exclude each other"):
        gossamer.crawl_sync(options=options, max_pages=3)
    with pytest.raises(UsageError, match="give all as arguments"):
        gossamer.crawl_sync("http://a.test/", options=options)
    with pytest.raises(UsageError, match="'max-page' is unknown: the nearest valid one is max-pag"):
        gossamer.crawl_sync("http://a.test/", max_page=3)


def test_the_rest_of_the_program_goes_on(run: Run, options: Options) -> None:
    async def program() -> None:
        turns = 0

        async def other_work() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(other_work())
        await gossamer.crawl("http://a.test/", **options)
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)
        assert turns > 2 * PAGES

    run(program())


def test_several_crawls_at_once_know_nothing_of_each_other(
    web: Web, run: Run, options: Options
) -> None:
    async def program() -> None:
        first, second, third = await asyncio.gather(
            gossamer.crawl("http://a.test/", **options),
            gossamer.crawl("http://b.test/", max_pages=7, **options),
            gossamer.crawl("http://b.test/", depth=0, **options),
        )
        assert (first.ended_by, first.snapshot.pages) == ("complete", PAGES)
        assert (second.ended_by, second.snapshot.pages) == ("max-pages", 7)
        assert (third.ended_by, third.snapshot.pages) == ("complete", 1)

    run(program())
    hosts = traffic_of(web.requests, time.monotonic()).hosts
    assert {name: host.requests for name, host in hosts.items()} == {
        "a.test": PAGES + 1,
        "b.test": 8 + 2,
    }


@pytest.mark.parametrize(("path", "state"), [("/robots.txt", 1), ("/", 2), ("/3", 5)])
def test_a_cancelled_crawl_leaves_nothing_behind(
    web: Web, run: Run, options: Options, path: str, state: int
) -> None:
    web.site("a.test").raw(path, KeepOpen())

    async def program() -> None:
        crawl = asyncio.create_task(gossamer.crawl("http://a.test/", **options))
        await asyncio.to_thread(web.wait_for_requests, state)
        crawl.cancel()
        with pytest.raises(asyncio.CancelledError):
            await crawl

    run(program())


def test_a_time_limit_ends_a_crawl(web: Web, run: Run, options: Options) -> None:
    web.site("a.test").raw("/", KeepOpen())

    async def program() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await gossamer.crawl("http://a.test/", **options)

    run(program())


def test_a_slow_reader_gets_every_page_and_slows_the_crawl_down(
    web: Web, run: Run, options: Options
) -> None:
    async def program() -> None:
        pages = []
        async for page in gossamer.pages("http://a.test/", host_connections=3, **options):
            pages.append(page)
            await asyncio.sleep(0.01)
            # What is fetched and not yet read is on one of the three connections.
            assert len(web.requests_to("a.test")) <= 1 + len(pages) + 3
        assert sorted(page.id for page in pages) == list(range(1, PAGES + 1))

    run(program())


@pytest.mark.parametrize("closing", [True, False], ids=["closed", "dropped"])
def test_to_stop_reading_ends_the_crawl(
    web: Web, run: Run, options: Options, *, closing: bool
) -> None:
    async def program() -> None:
        read = 0
        pages = gossamer.pages("http://a.test/", **options)
        if closing:
            async with aclosing(pages):
                async for _ in pages:
                    read += 1
                    if read == 5:
                        break
        else:
            async for _ in pages:
                read += 1
                if read == 5:
                    break
            del pages, _
            gc.collect()
            # The loop closes what nobody holds any more, in a task of its own.
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 -- it tells nobody
                await asyncio.sleep(0.001)
        assert len(web.requests_to("a.test")) <= 7

    run(program())


def test_a_reader_that_comes_back_misses_nothing(
    run: Run, options: Options, tmp_path: Path
) -> None:
    async def program() -> None:
        read: list[str] = []
        while True:
            pages = gossamer.pages("http://a.test/", dir=tmp_path, host_connections=4, **options)
            async with aclosing(pages):
                count = 0
                async for page in pages:
                    count += 1
                    if count == 10:
                        break  # this one comes again
                    read.append(page.url)
                else:
                    break
        assert len(read) == len(set(read)) == PAGES

    run(program())


def test_an_error_comes_out_where_the_crawl_is_awaited(run: Run, options: Options) -> None:
    def full(page: Page) -> None:
        if page.id == 3:
            raise CrawlError("the disk is full")

    async def program() -> None:
        with pytest.raises(CrawlError, match="the disk is full"):
            await gossamer.crawl("http://a.test/", module=full, **options)
        pages = gossamer.pages("http://a.test/", module=full, **options)
        assert [(await anext(pages)).id for _ in range(3)] == [1, 2, 3]
        with pytest.raises(CrawlError, match="the disk is full"):
            await anext(pages)

    run(program())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"max_page": 3}, "the nearest valid one is max-page"),
        ({"delay": "fast"}, "is not a duration"),
        ({"scorer": "random"}, "there is no scorer"),
        ({"scorer": len}, r"scorer is given by name, .* write '\./file\.py:function'"),
        ({"module": "nothing"}, "nothing"),
        ({"seeds": ["http://b.test/"]}, "both as arguments and as seeds="),
        ({"dns": {"a.test": "zz"}}, "dns has 'zz' for a.test, which is no address"),
        ({"dns": {"a.test": []}}, "no address"),
        ({"output": "a.html", "fields": "url"}, "no output here is a table"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_before_anything_starts(
    web: Web, options: Options, wrong: Options, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        asyncio.run(gossamer.crawl("http://a.test/", **{**options, **wrong}))
    assert web.requests == []


def test_nothing_is_written_without_a_directory(
    options: Options, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(gossamer.crawl("http://a.test/", **options))
    assert list(tmp_path.iterdir()) == []


def test_it_is_polite_unless_told_otherwise(web: Web, options: Options) -> None:
    polite = {name: value for name, value in options.items() if name != "delay"}
    asyncio.run(gossamer.crawl("http://a.test/", max_pages=2, **polite))
    assert (traffic_of(web.requests, time.monotonic()).min_gap_s or 0) >= 1.0


@pytest.mark.req("D12")
def test_a_page_s_text_is_parsed_once(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse_tree(source: str) -> Document:
        parsed.append(source)
        return real(source)

    real = tree.parse_tree
    monkeypatch.setattr(tree, "parse_tree", parse_tree)

    def read(page: Page) -> None:
        assert page.text == page.text

    def read_too(page: Page) -> None:
        assert page.text == msgspec.structs.replace(page).text

    summary = gossamer.crawl_sync("http://a.test/", module=[read, read_too], **options)
    assert [one.errors for one in summary.modules] == [0, 0]
    assert len(parsed) == PAGES, "by two modules, in threads of their own"


@pytest.mark.req("D12")
def test_a_reader_may_pause_and_other_modules_have_their_usual_time(
    web: Web, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than a lease, and longer than any module may take."""
    monkeypatch.setitem(Crawl.__init__.__kwdefaults__ or {}, "module_limit_s", 0.3)
    stuck: list[str] = []

    async def never_returns(page: Page) -> None:
        if page.id == 2:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                stuck.append("was ended")
                raise

    async def program() -> None:
        read = []
        async for page in gossamer.pages(
            "http://a.test/", module=never_returns, lease=1, max_pages=4, **options
        ):
            read.append(page.id)
            if page.id == 2:
                await asyncio.sleep(1.5)
                assert stuck == ["was ended"]
        assert read == [1, 2, 3, 4]

    asyncio.run(program())
    assert len(web.requests_to("a.test")) == 5, "robots.txt, and each page once"


def test_a_plain_function_is_an_observer(
    options: Options, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Event] = []
    gossamer.crawl_sync("http://a.test/", observer=seen.append, **options)
    fetched = [one.url for one in seen if one.kind is EventKind.FETCHED]
    assert len(fetched) == len(set(fetched)) == PAGES

    def broken(event: Event) -> None:
        raise ValueError(f"cannot stand {event.kind}")

    summary = gossamer.crawl_sync("http://a.test/", observer=broken, **options)
    assert summary.ended_by == "complete"
    (message,) = [one.getMessage() for one in caplog.records if one.name == "gossamer.observer"]
    assert "ValueError: cannot stand fetched (test_api.py, line" in message

    async def unawaited(_event: Event) -> None: ...

    for wrong, words in ((unawaited, "async function"), (3, "is a int")):
        with pytest.raises(UsageError, match=words):
            gossamer.crawl_sync("http://a.test/", observer=wrong, **options)  # type: ignore[arg-type]


def test_what_a_debugger_shows_is_short(web: Web, options: Options) -> None:
    web.site("a.test").page("/", title="Home", html=b"x" * 400_000)
    (page,) = gossamer.pages_sync("http://a.test/", **options)
    assert re.fullmatch(
        r"<Page 1 http://a\.test/ '.*': depth 0, 400,000 bytes, 0 links>", repr(page)
    )
    summary = gossamer.crawl_sync("http://a.test/", **options)
    assert repr(summary) == "<Summary 'complete': 1 pages, 400,000 bytes in '.'>"
    response = Response(url=page.url, outcome=Outcome.FETCHED, body=page.body, started=0, ended=1)
    assert len(repr(response)) < 100
