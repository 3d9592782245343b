"""What a worker prints and logs reaches its coordinator in whole lines."""

import asyncio
import logging
import socket
import sys
import threading
from collections.abc import Callable

from gossamer.channel import Channel, Served
from gossamer.coordinator.processes.worker_channel import (
    FEED,
    MAX_LINE,
    ChannelStream,
    EventFeed,
    printing_to,
)
from gossamer.model import Event, EventKind, Url


def collected() -> tuple[list[str], ChannelStream]:
    sent: list[str] = []
    return sent, ChannelStream(sent.append)


def test_a_line_is_sent_when_it_is_complete() -> None:
    sent, stream = collected()
    print("one", 1, file=stream)
    print("two", end="", file=stream)
    assert sent == ["one 1\n"]
    print(" three\nfour", end="", file=stream)
    assert sent == ["one 1\n", "two three\n"]
    stream.send_rest()
    stream.send_rest()
    assert sent[2:] == ["four"]


def test_a_line_without_end_does_not_grow_for_ever() -> None:
    sent, stream = collected()
    for _ in range(3 * MAX_LINE // 1000):
        stream.write("x" * 1000)
    assert sum(map(len, sent)) > 2 * MAX_LINE
    assert max(map(len, sent)) < MAX_LINE + 1000


def test_lines_of_several_threads_stay_whole() -> None:
    sent, stream = collected()
    go = threading.Barrier(4)

    def work(number: int) -> None:
        go.wait()
        for line in range(500):
            stream.write(f"{number}-")
            stream.write(f"{line}")
            stream.write("\n")

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    lines = "".join(sent).splitlines()
    for number in range(4):
        mine = [line for line in lines if line.startswith(f"{number}-")]
        assert mine == [f"{number}-{line}" for line in range(500)]
    assert len(lines) == 2000


class NotingFeed:
    """A coordinator that notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    async def output(self, stream: str, text: str) -> None:
        self.heard.append((stream, text))

    async def say(self, level: str, words: str, fields: dict[str, str]) -> None:
        self.heard.append((level, words))

    async def events(self, events: list[Event]) -> None:
        self.heard.append(tuple(events))


def heard(work: Callable[[Channel], None]) -> list[tuple[object, ...]]:
    feed = NotingFeed()

    async def program() -> None:
        ours, theirs = socket.socketpair()
        target = {name: getattr(feed, name) for name in ("output", "say", "events")}
        far = await Channel.open(theirs, [FEED], [Served(contract=FEED, target=target)])
        near = await Channel.open(ours, [FEED])
        before = sys.stdout, sys.stderr
        with printing_to(near):
            work(near)
        assert (sys.stdout, sys.stderr) == before
        await asyncio.sleep(0)
        await near.close()
        await far.closed

    asyncio.run(asyncio.wait_for(program(), 5))
    return feed.heard


def test_what_is_printed_is_heard_to_the_end_in_order() -> None:
    def work(_channel: Channel) -> None:
        print("to out")
        print("to err", file=sys.stderr)
        thread = threading.Thread(target=print, args=("from a thread",))
        thread.start()
        thread.join()
        print("no end", end="")

    assert heard(work) == [
        ("stdout", "to out\n"),
        ("stderr", "to err\n"),
        ("stdout", "from a thread\n"),
        ("stdout", "no end"),
    ]


def test_what_is_logged_is_heard_as_a_message() -> None:
    def work(_channel: Channel) -> None:
        logging.getLogger("gossamer.modules").warning("module %s is slow", "x")

    ((level, words),) = heard(work)
    assert level == "warning"
    assert "module x is slow" in str(words)


def test_steps_of_one_turn_travel_together() -> None:
    steps = [Event(EventKind.FETCHED, depth, Url("http://a.test/")) for depth in range(5)]

    def work(channel: Channel) -> None:
        feed = EventFeed(channel)
        for step in steps:
            feed(step)

    assert heard(work) == [tuple(steps)]
