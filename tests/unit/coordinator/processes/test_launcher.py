"""The launcher, with real processes: whom it starts, how they end, and that nobody stays."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from process_tree import is_alive

from gossamer.coordinator.processes.launcher import MOST_DEATHS, Launcher
from gossamer.coordinator.processes.launcher_process import ProcessEnded
from gossamer.model.errors import CrawlError

PROGRAM = """
import os, signal, socket, sys, time
from gossamer.coordinator.processes import launcher_process, worker_main

def run_worker(end, note, locks):
    end.sendall(b"%d\\n" % os.getpid())
    for number in (7, 8, 9):
        entry = note.enter(number)
        if number == 8:
            note.cross_out(entry)
    asked = end.recv(1)
    if asked == b"k":
        os.kill(os.getpid(), signal.SIGKILL)
    while asked == b"s":  # will not leave
        time.sleep(1)
    return int(asked or b"1")

worker_main.run_worker = run_worker
worker_main.warm_up = lambda: None
launcher_process.become_launcher(socket.socket(fileno=int(sys.argv[1])))
"""
"""A launcher whose workers have two pages in hand, and do as they are told."""


@asynccontextmanager
async def small_launcher() -> AsyncIterator[Launcher]:
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, "-c", PROGRAM, str(theirs.fileno())]
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()])  # noqa: ASYNC220
    process.returncode = 0  # the launcher waits for it
    launcher = Launcher(ours, process.pid)
    try:
        async with asyncio.timeout(20):
            yield launcher
    finally:
        await launcher.close()


def run(story: Callable[[Launcher], Awaitable[None]]) -> None:
    async def program() -> None:
        async with small_launcher() as launcher:
            await story(launcher)

    asyncio.run(program())


async def first_line(end: socket.socket) -> int:
    end.setblocking(False)
    return int(await asyncio.get_running_loop().sock_recv(end, 100))


@pytest.mark.parametrize(
    ("told", "code", "in_hand"),
    [(b"0", 0, []), (b"3", 3, [7, 9]), (b"k", -signal.SIGKILL, [7, 9]), (b"", 1, [7, 9])],
)
def test_it_tells_how_a_worker_ended_and_which_pages_it_had_in_hand(
    told: bytes, code: int, in_hand: list[int]
) -> None:
    async def story(launcher: Launcher) -> None:
        pid, end = await launcher.start()
        with end:
            assert await first_line(end) == pid
            end.sendall(told)
            end.shutdown(socket.SHUT_WR)
            ended = await launcher.next_end()
            assert await asyncio.get_running_loop().sock_recv(end, 1) == b"", "nobody is there"
        assert (ended.pid, ended.code, sorted(ended.in_hand)) == (pid, code, in_hand)

    run(story)


def test_a_worker_can_be_killed_and_nobody_else_can() -> None:
    async def story(launcher: Launcher) -> None:
        pid, end = await launcher.start()
        with end, subprocess.Popen(["sleep", "60"]) as stranger:  # noqa: ASYNC220
            await first_line(end)
            launcher.kill(stranger.pid)
            launcher.kill(pid)
            ended = await launcher.next_end()
            assert (ended.pid, ended.code) == (pid, -signal.SIGKILL)
            launcher.kill(pid)  # has ended: nothing happens
            assert stranger.poll() is None
            stranger.kill()

    run(story)


def test_many_starts_at_once_each_get_their_own_worker() -> None:
    async def story(launcher: Launcher) -> None:
        started = await asyncio.gather(*(launcher.start() for _ in range(40)))
        assert len({pid for pid, _ in started}) == 40
        assert [await first_line(end) for _, end in started] == [pid for pid, _ in started]
        for _, end in started:
            end.close()
        ended = {(await launcher.next_end()).pid for _ in started}
        assert ended == {pid for pid, _ in started}

    run(story)


def test_whoever_gives_up_waiting_leaves_the_others_their_workers() -> None:
    async def story(launcher: Launcher) -> None:
        given_up = asyncio.create_task(launcher.start())
        await asyncio.sleep(0)
        given_up.cancel()
        pid, end = await launcher.start()
        with end:
            assert await first_line(end) == pid
            ended = await launcher.next_end()
            assert (ended.code, ended.pid != pid) == (1, True), "nobody talks to the other one"

    run(story)


@pytest.mark.parametrize("stubborn", [False, True])
def test_closed_it_ends_within_two_seconds_with_all_workers(*, stubborn: bool) -> None:
    async def story(launcher: Launcher) -> None:
        started = [await launcher.start() for _ in range(3)]
        for pid, end in started:
            assert await first_line(end) == pid
            if stubborn:
                end.sendall(b"s")
            else:
                end.close()
        begun = time.monotonic()
        await launcher.close()
        assert time.monotonic() - begun < (2.0 if stubborn else 0.5)
        pids = [launcher._pid, *(pid for pid, _ in started)]
        assert [pid for pid in pids if is_alive(pid)] == []
        for _, end in started:
            end.close()

    run(story)


def test_one_that_dies_is_replaced_and_whoever_waits_gets_a_process_of_the_next() -> None:
    """Those that it has started are gone before, also one that stands still."""

    async def story(launcher: Launcher) -> None:
        said: list[str] = []
        launcher.say = said.append
        started = [await launcher.start() for _ in range(3)]
        os.kill(started[0][0], signal.SIGSTOP)
        os.kill(launcher._pid, signal.SIGSTOP)
        waiting = [asyncio.create_task(launcher.start()) for _ in range(3)]
        await asyncio.sleep(0)
        dead = launcher._pid
        os.kill(dead, signal.SIGKILL)
        ends = [await launcher.next_end()]
        assert [pid for pid, _ in started if is_alive(pid)] == []
        ends += launcher.more_ends()
        assert ends == [ProcessEnded(pid, -9, was_orphaned=True) for pid, _ in started]
        assert all(launcher.has_orphaned(pid) for pid, _ in started)
        successors = await asyncio.gather(*waiting)
        assert launcher._pid != dead
        assert len(said) == 1
        assert "is replaced" in said[0]
        for pid, end in successors:
            end.close()
            assert await launcher.next_end() == ProcessEnded(pid, 1)
            assert not launcher.has_orphaned(pid)
        for _, end in started:
            end.close()

    run(story)


def test_one_that_dies_before_anything_was_asked_of_it_is_replaced() -> None:
    async def story(launcher: Launcher) -> None:
        os.kill(launcher._pid, signal.SIGKILL)
        pid, end = await launcher.start()
        end.close()
        assert await launcher.next_end() == ProcessEnded(pid, 1)

    run(story)


def test_one_that_keeps_dying_is_not_replaced_for_ever() -> None:
    async def story(launcher: Launcher) -> None:
        for _ in range(MOST_DEATHS):
            pid, end = await launcher.start()
            os.kill(launcher._pid, signal.SIGKILL)
            assert (await launcher.next_end()).pid == pid
            end.close()
        for _ in range(2):
            with pytest.raises(CrawlError, match="keeps dying"):
                await launcher.start()
            with pytest.raises(CrawlError, match="keeps dying"):
                await launcher.next_end()

    run(story)


def test_closed_while_it_is_replaced_it_leaves_nobody() -> None:
    async def story(launcher: Launcher) -> None:
        started = [await launcher.start() for _ in range(3)]
        os.kill(started[0][0], signal.SIGSTOP)
        os.kill(launcher._pid, signal.SIGKILL)
        asking = asyncio.create_task(launcher.start())
        await asyncio.sleep(0)
        asking.cancel()
        await launcher.close()
        assert [pid for pid in (launcher._pid, *(one for one, _ in started)) if is_alive(pid)] == []
        for _, end in started:
            end.close()

    run(story)


def test_a_writer_of_outputs_goes_with_its_launcher() -> None:
    async def program() -> None:
        launcher = Launcher.spawn()
        try:
            async with asyncio.timeout(20):
                writer, writers_end = await launcher.start_writer()
                os.kill(launcher._pid, signal.SIGKILL)
                worker, workers_end = await launcher.start()
                assert launcher.has_orphaned(writer)
                assert not is_alive(writer)
                workers_end.close()
                writers_end.close()
                assert await launcher.next_end() == ProcessEnded(worker, 1)
        finally:
            await launcher.close()

    asyncio.run(program())


def test_a_real_worker_ends_when_its_coordinator_is_gone() -> None:
    async def program() -> None:
        launcher = Launcher.spawn()
        try:
            async with asyncio.timeout(20):
                pid, end = await launcher.start()
                end.close()
                assert await launcher.next_end() == ProcessEnded(pid, 1, [])
        finally:
            await launcher.close()

    asyncio.run(program())


@pytest.mark.parametrize("killed", [False, True])
def test_a_writer_of_outputs_is_forked_too_and_its_end_is_no_workers_end(*, killed: bool) -> None:
    async def program() -> None:
        launcher = Launcher.spawn()
        try:
            async with asyncio.timeout(20):
                writer, writers_end = await launcher.start_writer()
                worker, workers_end = await launcher.start()
                if killed:
                    launcher.kill(writer)
                writers_end.setblocking(False)
                writers_end.shutdown(socket.SHUT_WR)
                while await asyncio.get_running_loop().sock_recv(writers_end, 4096):
                    pass
                writers_end.close()
                workers_end.close()
                assert await launcher.next_end() == ProcessEnded(worker, 1, [])
        finally:
            await launcher.close()

    asyncio.run(program())
