"""Pages are analysed the same wherever that is done, and no page can break the crawl by it."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gossamer.content import Analyser, AnalysisRules, Markers, RawPage
from gossamer.content.started_parser import StartedParser
from gossamer.model import Url
from gossamer.worker.parser_pool import MOST_IN_HAND, AnalysisError, ParserPool
from gossamer.worker.parser_process import ParserDiedError, ParserProcess

RULES = AnalysisRules(markers=Markers.parse("<!-- C -->"))
PAGE = RawPage(
    Url("http://a.test/x/"),
    "text/html",
    "<title>é</title><a href=no><!-- C --><a href=../y?ü>".encode("latin-1"),
)


def run(program: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30):
            await program()

    asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 -- what is waited for is in another process
        await asyncio.sleep(0.005)


def has_help(parser_pool: ParserPool) -> bool:
    return parser_pool.process is not None


async def busy(parser_pool: ParserPool) -> ParserProcess:
    """Give so much to do that a process is started, and wait until it is there."""
    while parser_pool.process is None:
        await parser_pool.analyse(PAGE)
    process = parser_pool.process
    await until(lambda: process.ready)
    return process


def test_the_other_process_finds_the_same() -> None:
    async def program() -> None:
        process = ParserProcess(RULES)
        pages = [PAGE, RawPage(PAGE.url, None, b"\0\1\2" * 1000), RawPage(PAGE.url, None, b"")]
        found = await asyncio.gather(*(process.analyse(page) for page in pages))
        assert found == [Analyser(RULES).analyse(page) for page in pages]
        assert [link.url for link in found[0].links] == ["http://a.test/y?%FC"]
        await process.close()

    run(program)


def test_a_page_of_the_largest_size() -> None:
    async def program() -> None:
        links = b"".join(b"<a href=/%d>%d</a>" % (number, number) for number in range(30_000))
        page = RawPage(PAGE.url, "text/html", links)
        process = ParserProcess(AnalysisRules())
        assert await process.analyse(page) == Analyser(AnalysisRules()).analyse(page)
        await process.close()

    run(program)


def test_a_slow_crawl_needs_no_process() -> None:
    async def program() -> None:
        now = 0.0

        def clock() -> float:
            nonlocal now
            now += 0.01  # each page takes so long
            return now

        parser_pool = ParserPool(RULES, clock=clock)
        for _ in range(100):
            await parser_pool.analyse(PAGE)
            now += 0.1  # and then nothing comes for a while
        assert not has_help(parser_pool)
        for _ in range(100):
            await parser_pool.analyse(PAGE)
        assert has_help(parser_pool)
        await parser_pool.close()

    run(program)


def test_with_a_single_core_there_is_none() -> None:
    async def program() -> None:
        moments = iter(range(1000))
        parser_pool = ParserPool(RULES, alone=True, clock=lambda: float(next(moments)))
        for _ in range(100):
            await parser_pool.analyse(PAGE)
        assert parser_pool.process is None

    run(program)


def test_it_is_asked_as_soon_as_it_is_there_and_not_for_more_than_it_can_do() -> None:
    async def program() -> None:
        parser_pool = ParserPool(RULES)
        process = await busy(parser_pool)
        os.kill(process.pid, signal.SIGSTOP)
        asked = [asyncio.ensure_future(parser_pool.analyse(PAGE)) for _ in range(2 * MOST_IN_HAND)]
        await until(lambda: sum(one.done() for one in asked) == MOST_IN_HAND)
        assert process.in_hand == MOST_IN_HAND
        os.kill(process.pid, signal.SIGCONT)
        assert set(map(repr, await asyncio.gather(*asked))) == {repr(Analyser(RULES).analyse(PAGE))}
        await parser_pool.close()

    run(program)


def test_where_it_is_there_from_the_beginning_it_gets_the_first_page() -> None:
    async def program() -> None:
        with StartedParser() as started:
            parser_pool = ParserPool(RULES, started=started)
            parser_pool.get_help()
            process = parser_pool.process
        assert process is not None
        assert not process.ready
        first = asyncio.ensure_future(parser_pool.analyse(PAGE))
        await until(lambda: process.in_hand == 1)
        assert await first == Analyser(RULES).analyse(PAGE)
        await parser_pool.close()

    run(program)


def test_one_that_was_started_for_nothing_is_ended() -> None:
    with StartedParser() as started:
        process = started._process
        assert process.poll() is None
    assert process.returncode == -signal.SIGKILL


def test_nothing_is_lost_when_it_is_killed() -> None:
    async def program() -> None:
        parser_pool = ParserPool(RULES)
        process = await busy(parser_pool)
        os.kill(process.pid, signal.SIGSTOP)
        asked = [asyncio.ensure_future(parser_pool.analyse(PAGE)) for _ in range(MOST_IN_HAND)]
        await until(lambda: process.in_hand == MOST_IN_HAND)
        os.kill(process.pid, signal.SIGKILL)
        for found in await asyncio.gather(*asked):
            assert found == Analyser(RULES).analyse(PAGE)
        assert (await busy(parser_pool)).pid != process.pid, "and there is another one"
        await parser_pool.close()

    run(program)


def test_a_page_that_kills_it_twice_is_given_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def program() -> None:
        parser_pool = ParserPool(RULES)
        process = await busy(parser_pool)
        deadly = tmp_path / "dies"
        deadly.write_text("#!/bin/sh\nexit 1\n")
        deadly.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(deadly))
        os.kill(process.pid, signal.SIGSTOP)
        first, second = (asyncio.ensure_future(parser_pool.analyse(PAGE)) for _ in range(2))
        await until(lambda: process.in_hand == 2)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(AnalysisError):
            await first
        assert await second == Analyser(RULES).analyse(PAGE), "it had only waited behind the other"
        await parser_pool.close()

    run(program)


def test_one_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def program() -> None:
        process = ParserProcess(RULES)
        await process.analyse(PAGE)
        monkeypatch.setattr("gossamer.worker.parser_process.PATIENCE_S", 0.1)
        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(ParserDiedError) as death:
            await process.analyse(PAGE)
        assert death.value.culprit
        await process.close()

    run(program)


def test_where_no_process_can_be_started_it_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    async def program() -> None:
        moments = iter(range(1000))
        parser_pool = ParserPool(RULES, clock=lambda: float(next(moments)))
        for _ in range(10):
            assert await parser_pool.analyse(PAGE) == Analyser(RULES).analyse(PAGE)
        assert parser_pool.process is None
        await parser_pool.close()

    run(program)


def test_it_ends_with_whoever_it_works_for() -> None:
    async def program() -> None:
        process = ParserProcess(RULES)
        await process.analyse(PAGE)
        process.hang_up()
        status = await asyncio.to_thread(process.wait)
        assert status == 0

    run(program)
