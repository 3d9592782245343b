"""What modules can count on."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.model import Page
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.builtin import Noop
from gossamer.modules.contract import ModuleContext
from gossamer.modules.loading import as_module
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.runner import ModuleRunner

MakePage = Callable[..., Page]


def run(
    things: list[object],
    pages: list[Page],
    context: ModuleContext,
    *,
    time_limit_s: float = 30.0,
    slow_after_s: float = 5.0,
) -> list[ModuleReport]:
    """Give the pages to the modules, one after another, and return how they fared."""

    async def crawl() -> list[ModuleReport]:
        runner = ModuleRunner(
            [as_module(thing) for thing in things],
            time_limit_s=time_limit_s,
            slow_after_s=slow_after_s,
        )
        await runner.open(context)
        try:
            for page in pages:
                await runner.deliver(page)
        finally:
            await runner.close()
        return runner.report()

    return asyncio.run(crawl())


class Diary:
    """Writes down its calls."""

    def __init__(self) -> None:
        self.lines: list[object] = []

    def open(self, context: ModuleContext) -> None:
        self.lines.append(("open", context.crawl))

    def page(self, page: Page) -> None:
        self.lines.append(page.id)

    def depth_changed(self, page_id: int, depth: int) -> None:
        self.lines.append(("depth", page_id, depth))

    def close(self) -> None:
        self.lines.append("close")


class QuickDiary(Diary):
    on_loop = True


class AsyncDiary:
    def __init__(self) -> None:
        self.lines: list[object] = []

    async def open(self, context: ModuleContext) -> None:
        await asyncio.sleep(0)
        self.lines.append(("open", context.crawl))

    async def page(self, page: Page) -> None:
        await asyncio.sleep(0)
        self.lines.append(page.id)

    async def depth_changed(self, page_id: int, depth: int) -> None:
        self.lines.append(("depth", page_id, depth))

    async def close(self) -> None:
        self.lines.append("close")


@pytest.mark.req("D12")
def test_every_kind_of_module_sees_every_page_between_open_and_close(
    make_page: MakePage, context: ModuleContext
) -> None:
    seen: list[int] = []
    diaries: list[Diary | AsyncDiary] = [Diary(), QuickDiary(), AsyncDiary()]
    pages = [make_page(number) for number in range(1, 6)]
    reports = run([*diaries, lambda page: seen.append(page.id)], pages, context)
    for diary in diaries:
        assert diary.lines == [("open", "test"), 1, 2, 3, 4, 5, "close"]
    assert seen == [1, 2, 3, 4, 5]
    assert [report.pages for report in reports] == [5] * 4
    assert {report.errors + report.missed + report.timed_out for report in reports} == {0}


@pytest.mark.req("D12")
@pytest.mark.parametrize("kind", [Diary, QuickDiary, AsyncDiary])
def test_a_new_depth_reaches_the_modules_that_ask_for_it(
    make_page: MakePage, context: ModuleContext, kind: type[Diary]
) -> None:
    diary = kind()

    async def crawl() -> None:
        runner = ModuleRunner([as_module(diary), as_module(Noop)])
        await runner.open(context)
        await runner.deliver(make_page(1, depth=3))
        await runner.depth_changed(1, 2)
        await runner.close()

    asyncio.run(crawl())
    assert diary.lines == [("open", "test"), 1, ("depth", 1, 2), "close"]


def test_a_plain_module_lives_in_one_thread_of_its_own(
    make_page: MakePage, context: ModuleContext
) -> None:
    class Database:
        def open(self, context: ModuleContext) -> None:
            self.database = sqlite3.connect(context.directory / "x.db")
            self.database.execute("CREATE TABLE pages (id)")

        def page(self, page: Page) -> None:
            # sqlite3 refuses a connection that was made in another thread.
            self.database.execute("INSERT INTO pages VALUES (?)", (page.id,))
            assert threading.current_thread() is not threading.main_thread()

        def close(self) -> None:
            self.database.commit()
            self.database.close()

    [report] = run([Database], [make_page(1), make_page(2)], context)
    assert (report.pages, report.last_error) == (2, None)
    assert sqlite3.connect(context.directory / "x.db").execute(
        "SELECT count(*) FROM pages"
    ).fetchone() == (2,)


def test_a_module_that_asks_for_it_is_called_on_the_event_loop(
    make_page: MakePage, context: ModuleContext
) -> None:
    class Quick:
        on_loop = True

        def page(self, page: Page) -> None:
            asyncio.get_running_loop()

    [report] = run([Quick], [make_page()], context)
    assert (report.pages, report.errors) == (1, 0)


@pytest.mark.req("D12")
def test_a_page_is_delivered_only_when_the_modules_have_taken_it(
    make_page: MakePage, context: ModuleContext
) -> None:
    # What is settled before a module has seen it would be lost to the module in a crash.
    may_go = threading.Event()
    entered = threading.Event()

    def slow(page: Page) -> None:
        entered.set()
        may_go.wait()

    async def crawl() -> None:
        runner = ModuleRunner([as_module(slow)])
        await runner.open(context)
        delivery = asyncio.create_task(runner.deliver(make_page()))
        await asyncio.to_thread(entered.wait)
        assert not delivery.done()
        may_go.set()
        await delivery
        await runner.close()

    asyncio.run(crawl())


def test_pages_that_come_together_reach_a_plain_module_one_by_one_in_order(
    make_page: MakePage, context: ModuleContext
) -> None:
    seen: list[int] = []
    inside = 0

    def see(page: Page) -> None:
        nonlocal inside
        inside += 1
        assert inside == 1
        seen.append(page.id)
        inside -= 1

    async def crawl() -> ModuleReport:
        runner = ModuleRunner([as_module(see)])
        await runner.open(context)
        await asyncio.gather(*(runner.deliver(make_page(number)) for number in range(500)))
        await runner.close()
        return runner.report()[0]

    report = asyncio.run(crawl())
    assert (report.pages, report.errors) == (500, 0)
    assert seen == list(range(500))


def test_calls_of_an_async_module_overlap(make_page: MakePage, context: ModuleContext) -> None:
    async def crawl() -> None:
        meeting = asyncio.Event()
        inside: list[int] = []

        async def see(page: Page) -> None:
            inside.append(page.id)
            if len(inside) == 3:
                meeting.set()
            await meeting.wait()

        runner = ModuleRunner([as_module(see)], time_limit_s=20)
        await runner.open(context)
        await asyncio.gather(*(runner.deliver(make_page(number)) for number in (1, 2, 3)))
        await runner.close()
        assert runner.report()[0].pages == 3

    asyncio.run(crawl())


@pytest.mark.req("D12")
@pytest.mark.parametrize("on_loop", [True, False])
def test_no_module_can_change_a_page(
    make_page: MakePage, context: ModuleContext, on_loop: bool
) -> None:
    class Vandal:
        def __init__(self) -> None:
            self.on_loop = on_loop

        def page(self, page: Page) -> None:
            page.url = "http://evil.test/"  # type: ignore[misc, assignment]  # that is the crime

    seen: list[str] = []
    reports = run([Vandal, lambda page: seen.append(page.url)], [make_page()], context)
    assert reports[0].errors == 1
    assert seen == ["http://a.test/1"]


# --- opening and closing ---


@pytest.mark.req("D12")
def test_a_module_that_cannot_open_ends_the_crawl_before_it_starts(
    context: ModuleContext,
) -> None:
    class Unable:
        def open(self, context: ModuleContext) -> None:
            raise ConnectionRefusedError("no database")

        def close(self) -> None:
            raise AssertionError("it was never open")

    first, last = Diary(), Diary()
    with pytest.raises(CrawlError) as caught:
        run([first, Unable, last], [], context)
    assert str(caught.value).startswith("module ")
    assert "could not open: ConnectionRefusedError: no database (test_runner.py, line" in str(
        caught.value
    )
    assert first.lines == [("open", "test"), "close"]
    assert last.lines == []


def test_a_module_can_say_itself_why_it_does_not_open(context: ModuleContext) -> None:
    class Particular:
        async def open(self, context: ModuleContext) -> None:
            raise UsageError("give me an --option")

    with pytest.raises(UsageError, match=r"^give me an --option$"):
        run([Particular], [], context)


def test_a_failing_close_is_told_and_keeps_no_other_from_closing(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    class Sloppy:
        def close(self) -> None:
            raise OSError("cannot flush")

    before, after = Diary(), Diary()
    reports = run([before, Sloppy, after], [make_page()], context)
    assert before.lines[-1] == after.lines[-1] == "close"
    assert reports[1].errors == 1
    assert reports[1].last_error is not None
    assert "OSError: cannot flush" in reports[1].last_error
    assert "failed at closing: OSError: cannot flush" in caplog.text


def test_modules_are_closed_once_though_the_crawl_was_cancelled(
    make_page: MakePage, context: ModuleContext
) -> None:
    diary = Diary()
    entered, may_go = threading.Event(), threading.Event()

    def slow(page: Page) -> None:
        entered.set()
        may_go.wait()

    async def crawl() -> None:
        runner = ModuleRunner([as_module(diary), as_module(slow)])
        await runner.open(context)
        first = asyncio.create_task(runner.deliver(make_page(1)))
        await asyncio.to_thread(entered.wait)
        second = asyncio.create_task(runner.deliver(make_page(2)))
        await asyncio.sleep(0)
        first.cancel()
        second.cancel()
        await asyncio.wait({first, second})
        assert first.cancelled()
        assert second.cancelled()
        may_go.set()
        await runner.close()
        await runner.close()

    asyncio.run(crawl())
    assert diary.lines[0] == ("open", "test")
    assert diary.lines.count("close") == 1


def test_what_waits_for_modules_is_called_off_with_its_delivery(
    make_page: MakePage, context: ModuleContext
) -> None:
    may_go, entered = threading.Event(), threading.Barrier(3)

    class Slow:
        def __init__(self) -> None:
            self.seen: list[int] = []

        def page(self, page: Page) -> None:
            self.seen.append(page.id)
            if page.id == 1:
                entered.wait()
                may_go.wait()

    slow = [Slow(), Slow()]

    async def crawl() -> None:
        runner = ModuleRunner([as_module(module) for module in slow])
        await runner.open(context)
        first = asyncio.create_task(runner.deliver(make_page(1)))
        await asyncio.to_thread(entered.wait)
        second = asyncio.create_task(runner.deliver(make_page(2)))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait({second})
        may_go.set()
        await first
        await runner.deliver(make_page(3))
        await runner.close()

    asyncio.run(crawl())
    assert [module.seen for module in slow] == [[1, 3], [1, 3]]


# --- what may happen at random ---

Deed = Literal["fine", "raises", "exits", "gives up the crawl"]


def act(deed: Deed) -> None:
    if deed == "raises":
        raise ValueError
    if deed == "exits":
        raise SystemExit(3)
    if deed == "gives up the crawl":
        raise CrawlError("the disk is full")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    deeds=st.lists(
        st.tuples(*[st.sampled_from(["fine", "raises", "exits", "gives up the crawl"])] * 3),
        max_size=8,
    )
)
def test_every_page_is_counted_once_by_every_module(
    make_page: MakePage, context: ModuleContext, deeds: list[tuple[Deed, Deed, Deed]]
) -> None:
    class Direct:
        on_loop = True

        def page(self, page: Page) -> None:
            act(deeds[page.id][1])

    async def on_loop(page: Page) -> None:
        await asyncio.sleep(0)
        act(deeds[page.id][2])

    async def crawl() -> None:
        modules = [lambda page: act(deeds[page.id][0]), Direct, on_loop]
        runner = ModuleRunner([as_module(module) for module in modules])
        await runner.open(context)
        for number, three in enumerate(deeds):
            if "gives up the crawl" in three:
                with pytest.raises(CrawlError, match="the disk is full"):
                    await runner.deliver(make_page(number))
            else:
                await runner.deliver(make_page(number))
        await runner.close()
        for position, report in enumerate(runner.report()):
            fine = sum(three[position] == "fine" for three in deeds)
            assert (report.pages, report.errors) == (fine, len(deeds) - fine)

    asyncio.run(crawl())


# --- what it costs ---


class OnLoop:
    on_loop = True

    def page(self, page: Page) -> None:
        pass


@pytest.mark.parametrize(
    ("module", "at_once", "most_us"), [(OnLoop, 1, 20), (lambda page: None, 16, 150)]
)
def test_ten_thousand_quick_pages_are_quick(
    make_page: MakePage, context: ModuleContext, module: object, at_once: int, most_us: float
) -> None:
    # Measured: 2 and 9 µs. The limits hold on a busy machine.
    pages = iter([make_page(number) for number in range(10_000)])

    async def crawl() -> float:
        runner = ModuleRunner([as_module(module)])
        await runner.open(context)

        async def deliver_all() -> None:
            for page in pages:
                await runner.deliver(page)

        started = time.process_time()
        await asyncio.gather(*(deliver_all() for _ in range(at_once)))
        spent_s = time.process_time() - started
        await runner.close()
        assert runner.report()[0].pages == 10_000
        return spent_s / 10_000 * 1e6

    assert asyncio.run(crawl()) < most_us
