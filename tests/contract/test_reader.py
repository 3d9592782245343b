"""What is read of a crawl over its rows, by another process, in a file and in Redis."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest
from msgspec.structs import asdict
from tests.contract.driver import StoreDriver
from tests.contract.samples import link
from tests.contract.stores import RedisSetup, SqliteSetup

from gossamer.config import StoreAddress
from gossamer.frontier.contract import HostFeedback
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model import HostKey, Outcome
from gossamer.model.errors import CrawlError, UsageError
from gossamer.model.page import PageAttributes, pack_attributes
from gossamer.stores.crawl_views import CrawlCounts, ReadRequest, Step
from gossamer.stores.reader import CrawlReader
from gossamer.stores.redis.rows import open_redis_reader, reopening_redis_reader
from gossamer.stores.sqlite.rows import open_sqlite_reader
from gossamer.stores.url_record import Record, UrlState

T = TypeVar("T")

DELAY_S = 2.0
RULES = FrontierRules(scheduler=SchedulerRules(delay_s=DELAY_S, queues=10), max_depth=2)
START = 1_000_000.0
DEEP = b"\x9f" * 100_000


class Readable:
    """A crawl that somebody works on and others read."""

    def __init__(self, driver: StoreDriver) -> None:
        self.driver = driver

    def open(self) -> AbstractAsyncContextManager[CrawlReader]:
        """Open it as another process does."""
        setup = self.driver.setup
        if isinstance(setup, RedisSetup):
            address = StoreAddress("redis", url=setup._url)
            return open_redis_reader(ReadRequest(address=address, name=setup._crawl))
        assert isinstance(setup, SqliteSetup)
        return open_sqlite_reader(ReadRequest(address=StoreAddress("sqlite", path=setup._path)))

    def read(self, question: Callable[[CrawlReader], Awaitable[T]]) -> T:
        """Return the answer of a reader, after a commit."""
        self.driver.commit()

        async def ask() -> T:
            async with self.open() as reader:
                return await question(reader)

        return asyncio.run(ask())

    def counts(self) -> CrawlCounts:
        return self.read(lambda reader: reader.counts())


@pytest.fixture(params=["sqlite", "redis"])
def crawl(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    make_store: Callable[[str, Path, FrontierRules], StoreDriver],
) -> Iterator[Readable]:
    """A crawl with one worker and two hosts."""
    driver = make_store(request.param, tmp_path, RULES)
    driver.join(0)
    driver.add_seeds("a/", "b/")
    yield Readable(driver)
    driver.setup.close()


async def all_of(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def test_a_crawl_that_has_just_begun(crawl: Readable) -> None:
    counts = crawl.counts()
    assert (counts.urls, counts.hosts, counts.pages, counts.unfinished) == (2, 2, 0, 2)
    assert (counts.started_at, counts.last_at, counts.closed) == (None, None, False)
    assert [(one.depth, one.urls) for one in counts.depths] == [(0, 2)]
    assert crawl.read(lambda reader: reader.last_page()) == 0
    assert crawl.read(lambda reader: reader.results(0, 10)) == []


def test_counters_follow_a_crawl_step_by_step(crawl: Readable) -> None:
    driver = crawl.driver

    def by_depth() -> list[tuple[int, int, int, int]]:
        return [(one.depth, one.urls, one.finished, one.pages) for one in crawl.counts().depths]

    a, b = driver.take()
    assert crawl.counts().states[UrlState.LEASED] == 2
    driver.now += 1.0
    driver.keep(a, ["a/1", "a/2", "c/"], size=70)
    driver.now += 1.0
    driver.miss(b)
    counts = crawl.counts()
    assert counts.outcomes == {Outcome.FETCHED: 1, Outcome.NOT_FOUND: 1}
    assert (counts.pages, counts.visits, counts.bytes, counts.hosts) == (1, 1, 70, 3)
    assert (counts.started_at, counts.last_at) == (START + 1.0, START + 2.0)
    assert by_depth() == [(0, 2, 2, 1), (1, 3, 0, 0)]
    assert counts.states[UrlState.UNSCORED] == 3
    driver.score(lambda name: 20.0 if name == "c/" else 55.0)
    counts = crawl.counts()
    assert counts.states[UrlState.QUEUED] == sum(counts.queues.values()) == 3
    assert sorted(counts.queues.values()) == [1, 2]
    driver.now += 10.0
    (c,) = [task for task in driver.take(limit=1) if driver.name(task) == "c/"]
    assert sum(crawl.counts().queues.values()) == 2
    driver.keep(c, ["d/"])
    driver.score()
    driver.now += 10.0
    deep = driver.take_one("d/")
    driver.keep(deep, ["e/"])  # farther away than the limit
    assert crawl.counts().states[UrlState.TOO_DEEP] == 1
    assert by_depth()[2:] == [(2, 1, 1, 1), (3, 1, 0, 0)]
    driver.add_seeds("d/")  # two links nearer, as all that is behind it
    driver.relax()
    counts = crawl.counts()
    assert by_depth() == [(0, 3, 3, 2), (1, 4, 1, 1)]
    assert counts.states[UrlState.TOO_DEEP] == 0
    assert not counts.relaxing


def test_what_is_carried_of_a_page_is_what_the_worker_has_packed(crawl: Readable) -> None:
    driver = crawl.driver
    attributes = PageAttributes(content_type="text/html; x", encoding="koi8-r", title="Grüße")
    driver.keep(driver.take_one("a/"), attributes=pack_attributes(attributes))
    assert driver.stored_body(1).attributes == pack_attributes(attributes)
    page = crawl.read(lambda reader: reader.page(1))
    assert page is not None
    assert (page.content_type, page.encoding, page.title) == ("text/html; x", "koi8-r", "Grüße")


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        pytest.param([], PageAttributes(), id="without any field"),
        pytest.param(["text/x"], PageAttributes(content_type="text/x"), id="of an older version"),
        pytest.param(["a", "b", "c", *[None] * 20], None, id="of a newer version"),
    ],
)
def test_what_another_version_has_packed_is_read(
    crawl: Readable, stored: list[str | None], expected: PageAttributes | None
) -> None:
    driver = crawl.driver
    driver.keep(driver.take_one("a/"), attributes=msgspec.msgpack.encode(stored))
    page = crawl.read(lambda reader: reader.page(1))
    expected = expected or PageAttributes(content_type="a", encoding="b", title="c")
    assert {name: getattr(page, name) for name in asdict(expected)} == asdict(expected)


@pytest.mark.parametrize(
    "stored", [b"", b"\xc1", b"\x93\xa0\xa0", b"\x91\xa1\xff", b"\x91\x07", DEEP]
)
def test_a_damaged_page_is_named(crawl: Readable, stored: bytes) -> None:
    driver = crawl.driver
    driver.keep(driver.take_one("a/"), attributes=stored)
    with pytest.raises(CrawlError, match=r"is damaged: the attributes of page 1: .*'gossamer ver"):
        crawl.read(lambda reader: reader.page(1))


@pytest.mark.parametrize("kind", ["sqlite", "redis rows"])
def test_counters_of_a_url_that_overtakes_others(
    kind: str, tmp_path: Path, make_store: Callable[[str, Path, FrontierRules], StoreDriver]
) -> None:
    scheduler = SchedulerRules(delay_s=0.0, strict=True, queues=10)
    driver = make_store(kind, tmp_path, FrontierRules(scheduler=scheduler))
    driver.join(0)
    driver.add_seeds("a/")
    driver.keep(driver.take_one("a/"), ["a/1", "a/2"])
    driver.score()
    crawl = Readable(driver)
    assert sum(crawl.counts().queues.values()) == 2
    driver.add_seeds("a/2")
    counts = crawl.counts()
    assert sum(counts.queues.values()) == counts.states[UrlState.QUEUED] == 1
    assert counts.states[UrlState.UNSCORED] == 1
    driver.setup.close()


def test_urls_pages_and_results(crawl: Readable) -> None:
    driver = crawl.driver
    a, b = driver.take()
    driver.keep(a, ["a/1", "b/2"], size=70, records=(Record("m", b"{}"),), row=b"row")
    driver.redirect(b, "a/")
    urls = crawl.read(lambda reader: all_of(reader.urls()))
    assert [driver.name_of(one.record.url) for one in urls] == ["a/", "b/", "a/1", "b/2"]
    assert [one.bytes for one in urls] == [70, None, None, None]
    assert [one.record.state for one in urls[:3]] == [
        UrlState.DONE,
        UrlState.DONE,
        UrlState.UNSCORED,
    ]
    redirected = crawl.read(lambda reader: all_of(reader.urls(outcome=Outcome.REDIRECTED)))
    assert [one.record.id for one in redirected] == [2]
    waiting = crawl.read(lambda reader: all_of(reader.urls({UrlState.UNSCORED})))
    assert [one.record.id for one in waiting] == [3, 4]
    (page,) = crawl.read(lambda reader: all_of(reader.pages()))
    assert (page.id, page.depth, page.bytes, page.visits, page.url) == (1, 0, 70, 1, a.url)
    assert crawl.read(lambda reader: reader.page(1)) == page
    assert crawl.read(lambda reader: reader.page(2)) is None
    assert crawl.read(lambda reader: reader.page(2**70)) is None
    assert crawl.read(lambda reader: reader.content(1)) == a.url.encode()
    assert crawl.read(lambda reader: reader.content(7)) is None
    assert crawl.read(lambda reader: all_of(reader.depths())) == [(1, 0)]
    assert crawl.read(lambda reader: all_of(reader.aliases())) == [(b.url, 1)]
    assert crawl.read(lambda reader: reader.last_result()) == 1
    (result,) = crawl.read(lambda reader: reader.results(0, 10))
    assert (result.url_id, result.page_id, result.row) == (1, 1, b"row")
    assert result.records == (Record("m", b"{}"),)
    assert crawl.read(lambda reader: reader.results(1, 10)) == []


def test_more_urls_than_are_read_at_once(crawl: Readable) -> None:
    names = [f"a/{number}" for number in range(1200)]
    crawl.driver.add_seeds(*names)
    urls = crawl.read(lambda reader: all_of(reader.urls()))
    assert [crawl.driver.name_of(one.record.url) for one in urls] == ["a/", "b/", *names]
    found = crawl.read(lambda reader: reader.resolve_redirects([link(name).key for name in names]))
    assert [one and one.id for one in found] == [*range(3, 1203)]


def test_where_redirects_end(crawl: Readable) -> None:
    driver = crawl.driver
    a, b = driver.take()
    driver.redirect(a, "c/")
    driver.redirect(b, "a/")
    driver.score()
    driver.now += 10.0
    keys = [link(name).key for name in ("b/", "a/", "c/", "nobody/")]

    def ends() -> list[str | None]:
        found = crawl.read(lambda reader: reader.resolve_redirects(keys))
        return [None if one is None else driver.name_of(one.url) for one in found]

    assert ends() == ["c/", "c/", "c/", None]
    driver.redirect(driver.take_one("c/"), "b/")
    found = ends()  # in a circle, one of it
    assert {*found[:3]} <= {"a/", "b/", "c/"}
    assert found[3] is None


def test_the_path_to_a_url_and_how_a_page_was_reached(crawl: Readable) -> None:
    driver = crawl.driver
    a, _ = driver.take()
    driver.keep(a, ["c/"])
    driver.score()
    driver.now += 10.0
    driver.redirect(driver.take_one("c/"), "d/")
    driver.score()
    driver.now += 10.0
    (d,) = [task for task in driver.take() if driver.name(task) == "d/"]
    driver.keep(d)
    path = crawl.read(lambda reader: reader.path(d.url_id))
    c = link("c/").url
    assert path == [Step(a.url, 0, "seed"), Step(c, 1, "link"), Step(d.url, 1, "redirect")]
    page = crawl.read(lambda reader: reader.last_page())
    arrival = crawl.read(lambda reader: reader.arrival(page))
    assert (arrival.found_on, arrival.redirected_from) == (a.url, (c,))
    assert crawl.read(lambda reader: reader.arrival(99)).found_on is None
    (attempt,) = crawl.read(lambda reader: reader.attempts(d.url_id))
    assert attempt.outcome is Outcome.FETCHED


def test_what_comes_before_a_url_that_waits(crawl: Readable) -> None:
    driver = crawl.driver
    driver.take()  # both seeds are in progress
    names = ["a/1", "a/2", "a/3", "b/1", "a/4"]
    driver.add_seeds(*names)

    def ahead() -> list[int]:
        async def ask(reader: CrawlReader) -> list[int]:
            urls = [await reader.url(link(name).key) for name in names]
            return [await reader.ahead_of(url) for url in urls if url is not None]

        return crawl.read(ask)

    assert ahead() == [0, 1, 2, 3, 4]
    scores = {"a/1": 51.0, "a/2": 59.0, "a/3": 50.0, "b/1": 50.0, "a/4": 20.0}
    driver.score(scores.__getitem__)
    # Each has the URL of its host in progress before it; queues of ten scores are for themselves.
    assert ahead() == [2, 3, 1, 1, 1]


def test_hosts_with_most_to_do_and_when_they_may_be_asked(crawl: Readable) -> None:
    driver, ahead_s = crawl.driver, 0.0
    if isinstance(driver.setup, RedisSetup):  # by whose clock the crawl goes
        ahead_s = 10.0  # it goes on meanwhile
        driver.now = driver.setup.server_time() + ahead_s
    driver.add_seeds("a/1", "a/2", "b/1")
    a, _ = driver.take()
    hosts = crawl.read(lambda reader: reader.hosts(5, driver.now))
    assert [(one.host, one.waiting, one.in_progress) for one in hosts] == [
        ("a.test", 2, 1),
        ("b.test", 1, 1),
    ]
    assert [one.host for one in crawl.read(lambda reader: reader.hosts(1, 0.0))] == ["a.test"]
    driver.keep(a, feedback=HostFeedback(ended=driver.now))
    timing = crawl.read(lambda reader: reader.timing(HostKey("a.test"), driver.now + 0.5))
    assert timing is not None
    assert (timing.delay_s, timing.failures) == (DELAY_S, 0)
    assert timing.ready_in_s == 1.5 or DELAY_S < timing.ready_in_s <= DELAY_S + ahead_s
    assert crawl.read(lambda reader: reader.timing(HostKey("nobody"), 0.0)) is None


def test_a_crawl_that_has_ended_in_order(crawl: Readable) -> None:
    driver = crawl.driver
    for task in driver.take():
        driver.keep(task)
    assert not crawl.counts().closed
    driver.reopen()  # nobody has begun to work on it again
    counts = crawl.counts()
    assert (counts.closed, counts.running, counts.led_by) == (True, False, None)


def test_counters_that_are_not_stored_are_counted(crawl: Readable) -> None:
    driver = crawl.driver
    for task in driver.take():
        driver.keep(task, [f"{driver.name(task)}1"])
    before = crawl.counts()
    setup = driver.setup
    assert isinstance(setup, SqliteSetup | RedisSetup)
    setup.memory.remove("counts")
    changes = setup.memory.pending.now
    setup.memory.pending.now = type(changes)()
    sending = setup.memory.rows.write(changes)
    if sending is not None:
        sending()

    async def counts() -> CrawlCounts:
        async with crawl.open() as reader:
            return await reader.counts()

    assert asyncio.run(counts()) == before


class TestRedis:
    """What a server with many crawls tells."""

    @pytest.fixture
    def crawl(
        self, tmp_path: Path, make_store: Callable[[str, Path, FrontierRules], StoreDriver]
    ) -> Iterator[Readable]:
        """A crawl in Redis."""
        driver = make_store("redis", tmp_path, RULES)
        driver.join(0)
        driver.add_seeds("a/")
        yield Readable(driver)
        driver.setup.close()

    def test_who_leads_is_told(self, crawl: Readable) -> None:
        counts = crawl.counts()
        assert counts.running
        assert counts.led_by is not None
        assert counts.led_by.startswith("process ")
        setup = crawl.driver.setup
        assert isinstance(setup, RedisSetup)
        assert setup._rows is not None
        setup._rows.lead.resign()

        async def read() -> CrawlCounts:
            async with crawl.open() as reader:
                return await reader.counts()

        counts = asyncio.run(read())
        assert (counts.running, counts.led_by, counts.closed) == (False, None, False)

    def test_one_that_is_not_there_is_refused(self, redis_url: str) -> None:
        request = ReadRequest(address=StoreAddress("redis", url=redis_url), name="nobody")

        async def read() -> None:
            async with open_redis_reader(request):
                raise AssertionError("there is none")

        with pytest.raises(CrawlError, match="no crawl with the name nobody"):
            asyncio.run(read())

    def test_it_sees_what_is_committed_later(self, crawl: Readable) -> None:
        driver = crawl.driver
        driver.commit()
        setup = driver.setup
        assert isinstance(setup, RedisSetup)
        address = StoreAddress("redis", url=setup._url)
        opening = reopening_redis_reader(ReadRequest(address=address, name=setup._crawl))

        async def read() -> list[int]:
            async with opening() as reader:
                before = await reader.last_result()
                await asyncio.to_thread(settle_and_commit, driver)
                return [before, *(one.number for one in await reader.results(before, 10))]

        assert asyncio.run(read()) == [0, 1]


def settle_and_commit(driver: StoreDriver) -> None:
    for task in driver.take():
        driver.keep(task)
    driver.commit()


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    request = ReadRequest(address=StoreAddress("sqlite", path=tmp_path / "nothing.sqlite"))

    async def read() -> None:
        async with open_sqlite_reader(request):
            raise AssertionError("there is none")

    with pytest.raises(UsageError, match="there is no crawl"):
        asyncio.run(read())
