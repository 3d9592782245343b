"""The note of pages in hand: it outlasts the worker, and a suspect is read alone."""

import asyncio
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.frontier.contract import Task
from gossamer.model import HostKey, Url
from gossamer.worker.in_flight import (
    ENTRIES,
    MOST_SETTLING,
    MOST_SETTLING_BYTES,
    CrashNote,
    InFlightPages,
    LeaseGuard,
    UnansweredSettlements,
)


def test_it_outlasts_a_process_that_is_killed() -> None:
    note = CrashNote()
    pid = os.fork()
    if not pid:
        try:
            for number in (0, 5, 2**62):
                note.enter(number)
            note.cross_out(note.enter(6))
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    assert sorted(note.suspects()) == [0, 5, 2**62]


def test_more_pages_than_it_has_room_for_are_not_noted_and_do_no_harm() -> None:
    note = CrashNote()
    entries = [note.enter(number) for number in range(ENTRIES + 5)]
    assert entries[ENTRIES:] == [None] * 5
    assert sorted(note.suspects()) == list(range(ENTRIES))
    for entry in entries:
        note.cross_out(entry)
    assert note.suspects() == []
    assert len({note.enter(number) for number in range(ENTRIES)}) == ENTRIES


@pytest.mark.parametrize(
    ("error", "noted"),
    [(None, []), (ValueError, []), (asyncio.CancelledError, []), (MemoryError, [3])],
)
@pytest.mark.parametrize("alone", [False, True])
def test_a_page_is_crossed_out_unless_it_took_all_memory(
    error: type[BaseException] | None, noted: list[int], *, alone: bool
) -> None:
    note = CrashNote()

    async def program() -> None:
        async with InFlightPages(note).hold(3, alone=alone):
            assert note.suspects() == [3]
            if error is not None:
                raise error

    async def contained() -> None:
        try:
            await program()
        except BaseException as raised:  # noqa: BLE001
            assert type(raised) is error  # noqa: PT017

    asyncio.run(contained())
    assert note.suspects() == noted


a_page = st.tuples(
    st.booleans(),  # alone?
    st.integers(0, 4),  # turns before it comes
    st.integers(0, 4),  # turns in hand
    st.sampled_from([None, None, 0, 1, 3, 6]),  # the turn in which it is cancelled
)


@settings(max_examples=300, deadline=None)
@given(pages=st.lists(a_page, min_size=1, max_size=8))
def test_a_suspect_is_alone_and_everybody_has_a_turn(
    pages: list[tuple[bool, int, int, int | None]],
) -> None:
    note = CrashNote()
    seen: list[int] = []

    async def read(in_flight: InFlightPages, number: int) -> None:
        alone, before, turns, _ = pages[number]
        for _ in range(before):
            await asyncio.sleep(0)
        async with in_flight.hold(number, alone=alone):
            seen.append(number)
            for _ in range(turns + 1):
                noted = note.suspects()
                assert number in noted
                assert len(noted) == 1 or not any(pages[other][0] for other in noted)
                await asyncio.sleep(0)

    async def program() -> None:
        in_flight = InFlightPages(note)
        tasks = [asyncio.create_task(read(in_flight, number)) for number in range(len(pages))]
        for turn in range(8):
            for task, (*_, cancelled_in) in zip(tasks, pages, strict=True):
                if cancelled_in == turn:
                    task.cancel()
            await asyncio.sleep(0)
        async with asyncio.timeout(2):
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end, (*_, cancelled_in) in zip(ends, pages, strict=True):
            assert end is None or (
                cancelled_in is not None and isinstance(end, asyncio.CancelledError)
            )
        async with asyncio.timeout(2), in_flight.hold(99, alone=True):
            assert note.suspects() == [99]

    asyncio.run(program())
    assert {number for number, page in enumerate(pages) if page[3] is None} <= set(seen)
    assert note.suspects() == []


def settling_guards(count: int) -> tuple[UnansweredSettlements, list[LeaseGuard]]:
    """Return tasks of one worker, and how many of them take no slot of it."""
    unanswered, guards = UnansweredSettlements(), []
    for number in range(count):
        task = Task(
            url_id=number,
            lease=1,
            url=Url("http://a/"),
            host=HostKey("a"),
            depth=0,
            attempt=1,
            hops=0,
        )
        guards.append(LeaseGuard(task, 1.0, lambda: 0.0))
        guards[-1].unanswered = unanswered
    return unanswered, guards


def test_settlements_that_wait_for_their_answer_take_no_slot_up_to_a_number() -> None:
    unanswered, guards = settling_guards(MOST_SETTLING + 1)
    for guard in guards:
        guard.begin_settling(100)
    assert unanswered.without_slot == MOST_SETTLING
    guards[-1].end_settling()  # it has a slot
    assert unanswered.without_slot == MOST_SETTLING
    for guard in guards:
        guard.end_settling()
        guard.end_settling()
    assert unanswered.without_slot == 0


def test_large_pages_that_wait_for_their_answer_keep_their_slots() -> None:
    unanswered, guards = settling_guards(4)
    guards[0].begin_settling(MOST_SETTLING_BYTES - 10)
    guards[1].begin_settling(11)
    guards[2].begin_settling(10)
    assert unanswered.without_slot == 2
    guards[2].begin_settling(0)  # it is given back after all
    assert unanswered.without_slot == 2
    guards[0].end_settling()
    guards[3].begin_settling(MOST_SETTLING_BYTES - 10)
    assert unanswered.without_slot == 2
