"""Modules that fail, exit, block or never end: each is named and counted, and stops nothing."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from gossamer.model import Page
from gossamer.model.errors import CrawlError
from gossamer.modules.contract import ModuleContext
from gossamer.modules.loading import as_module
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.runner import ModuleRunner

MakePage = Callable[..., Page]
LIMIT_S = 0.25


@asynccontextmanager
async def opened(
    context: ModuleContext, *things: object, time_limit_s: float = 30.0, close_limit_s: float = 30.0
) -> AsyncIterator[ModuleRunner]:
    runner = ModuleRunner(
        [as_module(thing) for thing in things],
        time_limit_s=time_limit_s,
        close_limit_s=close_limit_s,
        slow_after_s=5.0,
    )
    await runner.open(context)
    try:
        yield runner
    finally:
        await runner.close()


def outcome(context: ModuleContext, thing: object, *pages: Page) -> tuple[ModuleReport, list[int]]:
    """Run the module with a good one behind it; return how it fared and what the other saw."""
    seen: list[int] = []

    async def crawl() -> ModuleReport:
        async with opened(context, thing, lambda page: seen.append(page.id)) as runner:
            for page in pages:
                await runner.deliver(page)
            return runner.report()[0]

    return asyncio.run(crawl()), seen


class CustomError(BaseException):
    """What no `except Exception` catches."""


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("not even that")


ERRORS = [
    ValueError,
    MemoryError,
    StopIteration,
    StopAsyncIteration,
    GeneratorExit,
    SystemExit,
    asyncio.CancelledError,
    CustomError,
    UnprintableError,
]


@pytest.mark.req("D12")
@pytest.mark.parametrize("error", [*ERRORS, KeyboardInterrupt])
def test_whatever_a_plain_module_raises_is_contained(
    make_page: MakePage, context: ModuleContext, error: type[BaseException]
) -> None:
    def fail(page: Page) -> None:
        raise error

    report, seen = outcome(context, fail, make_page(1), make_page(2))
    assert seen == [1, 2]
    assert (report.pages, report.errors) == (0, 2)
    assert report.last_error is not None
    assert report.last_error.startswith(error.__name__)


@pytest.mark.req("D12")
@pytest.mark.parametrize("error", ERRORS)
def test_whatever_a_module_on_the_event_loop_raises_is_contained(
    make_page: MakePage, context: ModuleContext, error: type[BaseException]
) -> None:
    class Direct:
        on_loop = True

        def page(self, page: Page) -> None:
            raise error

    report, seen = outcome(context, Direct, make_page(1), make_page(2))
    assert seen == [1, 2]
    assert (report.pages, report.errors) == (0, 2)


@pytest.mark.req("D12")
@pytest.mark.parametrize("error", ERRORS)
def test_whatever_an_async_module_raises_is_contained(
    make_page: MakePage, context: ModuleContext, error: type[BaseException]
) -> None:
    async def fail(page: Page) -> None:
        await asyncio.sleep(0)
        raise error

    report, seen = outcome(context, fail, make_page(1), make_page(2))
    assert seen == [1, 2]
    assert (report.pages, report.errors) == (0, 2)


def test_ctrl_c_on_the_event_loop_is_the_users(make_page: MakePage, context: ModuleContext) -> None:
    class Interrupted:
        on_loop = True

        def page(self, page: Page) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome(context, Interrupted, make_page())


@pytest.mark.req("D12", "C12")
def test_a_module_may_end_the_crawl_on_purpose_after_the_others_had_the_page(
    make_page: MakePage, context: ModuleContext
) -> None:
    def full(page: Page) -> None:
        raise CrawlError("no space left")

    seen: list[int] = []

    async def crawl() -> None:
        async with opened(context, full, lambda page: seen.append(page.id)) as runner:
            await runner.deliver(make_page())

    with pytest.raises(CrawlError, match=r"^no space left$"):
        asyncio.run(crawl())
    assert seen == [1]


def test_a_plain_function_that_gives_a_coroutine_is_told_what_to_do(
    make_page: MakePage, context: ModuleContext
) -> None:
    async def work() -> None: ...

    report, _ = outcome(context, lambda page: work(), make_page())
    assert report.errors == 1
    assert report.last_error is not None
    assert "declare it with 'async def'" in report.last_error


# --- in the log ---


@pytest.mark.req("D12")
def test_an_error_is_logged_once_for_each_kind_and_summed_up(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(page: Page) -> None:
        if page.id % 2:
            raise ValueError(f"page {page.id} is odd\x1b[31m\nsecond line")
        raise KeyError(page.id)

    report, _ = outcome(context, fail, *(make_page(number) for number in range(100)))
    lines = [line.getMessage() for line in caplog.records if line.levelno >= logging.WARNING]
    assert report.errors == 100
    assert len(lines) == 3
    assert (
        "fail failed at page 0 (http://a.test/0): KeyError: 0 (test_misbehaving.py, lin" in lines[0]
    )
    assert "ValueError: page 1 is odd\\x1b[31m second line" in lines[1]
    assert lines[2].endswith("fail: 0 pages taken, 100 errors")


def test_one_of_each_is_told_as_one(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    def fails_once(page: Page) -> None:
        if page.id:
            raise ValueError("one is too many")

    outcome(context, fails_once, make_page(0), make_page(1))
    assert caplog.records[-1].getMessage().endswith("fails_once: 1 page taken, 1 error")


def test_not_even_endless_kinds_of_error_fill_the_log(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(page: Page) -> None:
        raise type(f"Error{page.id}", (Exception,), {})

    report, _ = outcome(context, fail, *(make_page(number) for number in range(100)))
    assert report.errors == 100
    assert len([line for line in caplog.records if line.levelno >= logging.WARNING]) == 21


def test_a_slow_module_is_named_once_and_counted(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    async def crawl() -> ModuleReport:
        runner = ModuleRunner(
            [as_module(lambda page: time.sleep(0.002), "snail")], slow_after_s=1e-3
        )
        await runner.open(context)
        for number in range(3):
            await runner.deliver(make_page(number))
        await runner.close()
        return runner.report()[0]

    report = asyncio.run(crawl())
    assert (report.pages, report.slow, report.errors) == (3, 3, 0)
    assert caplog.text.count("module snail is slow") == 1
    assert "module snail: 3 pages taken, 3 slow" in caplog.text


# --- modules that do not come back ---


@pytest.mark.req("D12")
def test_a_plain_module_that_blocks_is_left_alone_and_taken_back(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    may_go, gone = threading.Event(), threading.Event()
    seen: list[int] = []
    others: list[int] = []

    def block(page: Page) -> None:
        seen.append(page.id)
        if page.id == 2:
            may_go.wait()
            gone.set()

    async def crawl() -> ModuleReport:
        async with opened(
            context,
            as_module(block, "block"),
            lambda page: others.append(page.id),
            time_limit_s=LIMIT_S,
        ) as runner:
            await runner.deliver(make_page(1))
            # The others come while it blocks: they wait behind it and are missed with it.
            await asyncio.gather(*(runner.deliver(make_page(number)) for number in (2, 3, 4)))
            await runner.deliver(make_page(5))
            assert runner.report()[0].timed_out == 1
            assert runner.report()[0].missed == 3
            may_go.set()
            await asyncio.to_thread(gone.wait)
            number = 5
            while runner.report()[0].pages < 2:  # Until the loop has heard of it.
                number += 1
                await runner.deliver(make_page(number))
            return runner.report()[0]

    report = asyncio.run(crawl())
    assert others[:5] == [1, 2, 3, 4, 5]
    assert seen[:2] == [1, 2]
    assert not {3, 4, 5} & set(seen)
    assert report.last_error is not None
    assert report.last_error.startswith("did not return from page 2 (http://a.test/2) within 0.")
    assert caplog.text.count("module block is still stuck and misses page") == 1
    assert "module block goes on; it has missed" in caplog.text


@pytest.mark.req("D12")
def test_a_module_that_blocks_for_ever_holds_up_neither_the_crawl_nor_its_end(
    make_page: MakePage, context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    class Stuck:
        def page(self, page: Page) -> None:
            threading.Event().wait()

        def close(self) -> None:
            raise AssertionError("not while a page is in progress")

    async def crawl() -> ModuleReport:
        async with opened(context, Stuck, time_limit_s=LIMIT_S) as runner:
            for number in range(100):
                await runner.deliver(make_page(number))
            return runner.report()[0]

    report = asyncio.run(crawl())
    assert (report.pages, report.timed_out, report.missed, report.errors) == (0, 1, 99, 0)
    assert "is not closed: it is still stuck" in caplog.text
    assert "0 pages taken, 1 timed out, 99 missed" in caplog.text


@pytest.mark.parametrize("last", [2, 3])
def test_a_module_that_hangs_to_the_end_is_given_up(
    last: int, context: ModuleContext, make_page: MakePage
) -> None:
    """Also one that took pages before, and one that hangs at the last page."""

    def hang(page: Page) -> None:
        if page.id == 2:
            threading.Event().wait()

    async def crawl() -> ModuleReport:
        async with opened(context, hang, time_limit_s=LIMIT_S) as runner:
            for number in range(1, last + 1):
                await runner.deliver(make_page(number))
            assert runner.report()[0].bad_end is None, "it may return yet"
        return runner.report()[0]

    report = asyncio.run(crawl())
    assert (report.pages, report.failed_pages) == (1, last - 1)
    assert report.failure == "was given up"


def test_the_time_a_page_waits_for_its_turn_does_not_count(
    make_page: MakePage, context: ModuleContext
) -> None:
    def steady(page: Page) -> None:
        time.sleep(0.02)

    async def crawl() -> ModuleReport:
        async with opened(context, steady, time_limit_s=0.4) as runner:
            # Together more than the limit, each a twentieth of it.
            await asyncio.gather(*(runner.deliver(make_page(number)) for number in range(30)))
            return runner.report()[0]

    report = asyncio.run(crawl())
    assert (report.pages, report.timed_out, report.missed) == (30, 0, 0)


def test_a_close_that_never_ends_is_given_up(
    context: ModuleContext, caplog: pytest.LogCaptureFixture
) -> None:
    class Stuck:
        def close(self) -> None:
            threading.Event().wait()

    class Endless:
        async def close(self) -> None:
            await asyncio.Event().wait()

    async def crawl() -> list[ModuleReport]:
        async with opened(context, Stuck, Endless, close_limit_s=LIMIT_S) as runner:
            pass
        return runner.report()

    assert [report.timed_out for report in asyncio.run(crawl())] == [1, 1]
    assert caplog.text.count("did not return from closing within") == 2


@pytest.mark.req("D12")
def test_an_async_module_that_never_ends_is_cancelled_and_gets_the_next_page(
    make_page: MakePage, context: ModuleContext
) -> None:
    cancelled: list[int] = []

    async def endless(page: Page) -> None:
        try:
            if page.id == 1:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(page.id)
            raise

    async def crawl() -> ModuleReport:
        async with opened(context, endless, time_limit_s=LIMIT_S) as runner:
            await runner.deliver(make_page(1))
            await runner.deliver(make_page(2))
            return runner.report()[0]

    report = asyncio.run(crawl())
    assert (report.pages, report.timed_out, report.errors, report.missed) == (1, 1, 0, 0)
    assert cancelled == [1]


def test_an_async_module_that_ignores_its_cancellation_holds_up_nothing(
    make_page: MakePage, context: ModuleContext
) -> None:
    async def crawl() -> ModuleReport:
        may_go = asyncio.Event()

        async def stubborn(page: Page) -> None:
            while not may_go.is_set():
                try:
                    await may_go.wait()
                except asyncio.CancelledError:
                    continue

        async with opened(context, stubborn, time_limit_s=LIMIT_S) as runner:
            await runner.deliver(make_page(1))
            report = runner.report()[0]
            may_go.set()
        return report

    assert asyncio.run(crawl()).timed_out == 1


def test_a_cancelled_delivery_cancels_the_async_module(
    make_page: MakePage, context: ModuleContext
) -> None:
    async def crawl() -> None:
        entered, ended = asyncio.Event(), asyncio.Event()

        async def waits(page: Page) -> None:
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with opened(context, waits) as runner:
            delivery = asyncio.create_task(runner.deliver(make_page()))
            await entered.wait()
            delivery.cancel()
            await ended.wait()

    asyncio.run(crawl())
