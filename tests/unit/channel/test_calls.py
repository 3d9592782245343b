"""Calls over a channel: what comes back, in which order, and how they travel."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

import pytest
from tests.unit.channel.line import CALCULATOR, Line, RealCalculator, line

from gossamer.channel import ChannelClosedError
from gossamer.channel.channel import HEADER, RESULT
from gossamer.model.errors import CrawlError, GossamerError, PageRefusedError, UsageError


def run(
    story: Callable[[Line], Awaitable[None]],
    *,
    at_once: frozenset[str] | None = frozenset(),
    without: str = "",
    max_message: int = 1_000_000,
) -> None:
    async def program() -> None:
        target = RealCalculator([UsageError, CrawlError, PageRefusedError, ZeroDivisionError])
        async with line(target, at_once=at_once, without=without, max_message=max_message) as one:
            await story(one)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is left"

    asyncio.run(program())


class CountedWrites:
    """The transport of a channel, with the number of its writes."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.writes = 0
        self.is_closing = transport.is_closing
        self.close = transport.close

    def write(self, data: bytes) -> None:
        self.writes += 1
        self._transport.write(data)


def counted(channel: object) -> CountedWrites:
    found = CountedWrites(channel._transport)  # type: ignore[attr-defined]
    channel._transport = found  # type: ignore[attr-defined]
    return found


async def begun(one: Line, calls: int) -> None:
    while len(one.target.calls) < calls:  # noqa: ASYNC110 -- no event
        await asyncio.sleep(0)


def started(call: Coroutine[object, object, object]) -> "asyncio.Task[object]":
    return asyncio.create_task(call)


def test_results_come_back_to_whoever_asked() -> None:
    async def story(one: Line) -> None:
        assert await one.proxy.add(2, 3) == 5
        assert await one.proxy.add(2) == 3
        assert await one.proxy.add(b=7, a=1) == 8
        sums = await asyncio.gather(*(one.proxy.add(n, n) for n in range(100)))
        assert sums == [2 * n for n in range(100)]

    run(story)


@pytest.mark.parametrize("kind", [UsageError, CrawlError, PageRefusedError])
def test_an_error_comes_back_as_its_own_class(kind: type[GossamerError]) -> None:
    async def story(one: Line) -> None:
        with pytest.raises(GossamerError) as caught:
            await one.proxy.fail(kind.__name__, "the disk is füll")
        assert (type(caught.value), str(caught.value)) == (kind, "the disk is füll")
        assert await one.proxy.add(1) == 2, "and the channel goes on"

    run(story)


def test_a_method_that_is_not_served_is_refused_by_name() -> None:
    async def story(one: Line) -> None:
        with pytest.raises(CrawlError, match="asked for add, which is not served"):
            await one.proxy.add(1)
        assert one.target.calls == []

    run(story, without="add")


def test_calls_of_one_turn_travel_in_one_write_and_are_answered_in_one() -> None:
    async def story(one: Line) -> None:
        await one.proxy.add(0)
        asked, answered = counted(one.near), counted(one.far)
        await asyncio.gather(*(one.proxy.add(n) for n in range(50)))
        assert (asked.writes, answered.writes) == (1, 1)

    run(story)


def test_calls_are_carried_out_in_their_order_even_if_one_takes_long() -> None:
    async def story(one: Line) -> None:
        waiting, adding = started(one.proxy.wait("first")), started(one.proxy.add(1))
        await begun(one, 1)
        await asyncio.sleep(0.02)
        assert one.target.calls == ["first"]
        one.target.go.set()
        assert [await waiting, await adding] == ["first", 2]
        assert one.target.calls == ["first", (1, 1)]

    run(story)


@pytest.mark.parametrize("at_once", [frozenset({"wait"}), None])
def test_a_call_that_may_take_long_does_not_hold_up_others(at_once: frozenset[str] | None) -> None:
    async def story(one: Line) -> None:
        waiting = started(one.proxy.wait("long"))
        assert await one.proxy.add(1) == 2
        assert not waiting.done()
        one.target.go.set()
        assert await waiting == "long"

    run(story, at_once=at_once)


def test_the_answer_to_a_cancelled_call_goes_to_nobody() -> None:
    async def story(one: Line) -> None:
        waiting = started(one.proxy.wait("given up"))
        await begun(one, 1)
        waiting.cancel()
        one.near.data_received(HEADER.pack(6, RESULT, one.near._last_call, 0) + b"\xa5right")
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        one.target.go.set()
        assert await one.proxy.add(1) == 2
        assert one.near._calls == {}

    run(story)


def test_every_caller_hears_that_the_other_end_is_gone() -> None:
    async def story(one: Line) -> None:
        calls = [started(one.proxy.wait(str(n))) for n in range(20)]
        await begun(one, 20)
        one.far.abort()
        heard = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(error) for error in heard} == {ChannelClosedError}
        with pytest.raises(ChannelClosedError, match="is gone"):
            await one.proxy.add(1)
        one.near.notify(CALCULATOR.methods["add"], 1)  # nobody listens: lost, and no error

    run(story, at_once=None)


def test_what_arrived_before_the_end_is_carried_out_before_it_is_closed() -> None:
    async def story(one: Line) -> None:
        for n in range(100):
            one.near.notify(CALCULATOR.methods["add"], n, 0)
        await one.near.close()
        await one.far.closed
        assert one.target.calls == [(n, 0) for n in range(100)]

    run(story)


def test_a_mistake_of_the_served_object_comes_out_of_closed() -> None:
    async def story(one: Line) -> None:
        with pytest.raises(ChannelClosedError):
            await one.proxy.fail("ZeroDivisionError", "ours")
        with pytest.raises(ZeroDivisionError, match="ours"):
            await one.far.closed

    run(story)


def test_a_mistake_in_a_call_that_takes_long_comes_out_of_closed() -> None:
    async def story(one: Line) -> None:
        with pytest.raises(ChannelClosedError):
            await one.proxy.fail("ZeroDivisionError", "ours")
        with pytest.raises(ZeroDivisionError, match="ours"):
            await one.far.closed

    run(story, at_once=None)


def test_calls_that_take_long_end_with_their_caller() -> None:
    async def story(one: Line) -> None:
        waiting = started(one.proxy.wait("never"))
        await begun(one, 1)
        await one.near.close()
        await one.far.closed
        assert isinstance(await asyncio.gather(waiting, return_exceptions=True), list)

    run(story, at_once=None)


def test_whoever_waits_is_told_when_calls_that_came_together_are_done() -> None:
    async def story(one: Line) -> None:
        seen: list[int] = []
        one.far._on_batch = lambda: seen.append(len(one.target.calls))
        await asyncio.gather(*(one.proxy.add(n) for n in range(10)))
        assert seen == [10]

    run(story)


def test_numbers_of_calls_begin_again_without_that_of_a_notice() -> None:
    async def story(one: Line) -> None:
        one.near._last_call = 0xFFFFFFFE
        assert [await one.proxy.add(n) for n in range(3)] == [1, 2, 3]

    run(story)
