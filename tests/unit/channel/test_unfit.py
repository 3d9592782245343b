"""What does not fit never reaches the object that is served, and ends the channel with a reason."""

import asyncio
import socket
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.channel.line import CALCULATOR, RealCalculator, line

from gossamer.channel import Channel, ChannelClosedError, Served
from gossamer.channel.channel import (
    CALL,
    ERROR,
    HEADER,
    HELLO,
    NOTICE,
    PROTOCOL,
    RESULT,
    methods_of,
)

NAMES = list(CALCULATOR.methods)


def frame(kind: int, call: int, method: int, message: bytes) -> bytes:
    return HEADER.pack(len(message), kind, call, method) + message


def calling(name: str, *arguments: object) -> bytes:
    return frame(CALL, 1, NAMES.index(name), msgspec.msgpack.encode(arguments))


GREETING = frame(HELLO, 0, 0, PROTOCOL.encode())
NESTED = b"\x91" * 100_000


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (GREETING + calling("add", "one", 2), "Expected `int`, got `str`"),
        (GREETING + calling("add"), "at least length 1"),
        (GREETING + calling("add", 1, None), "Expected `int`, got `None`"),
        (GREETING + frame(CALL, 1, NAMES.index("add"), b"\xc1"), "an invalid message"),
        (GREETING + frame(CALL, 1, NAMES.index("add"), b""), "an invalid message"),
        (GREETING + frame(NOTICE, 0, len(NAMES), b"\x90"), "list index out of range"),
        (
            GREETING + frame(CALL, 1, NAMES.index("add"), b"\x93\x01\x01" + NESTED),
            "an invalid message",
        ),
        (GREETING + HEADER.pack(1_000_001, CALL, 1, 0), "a message of 1,000,001 bytes"),
        (HEADER.pack(0xFFFFFFFF, HELLO, 0, 0), "a message of 4,294,967,295 bytes"),
        (frame(HELLO, 0, 0, b"gossamer 0.0.1 channel 1"), "speaks 'gossamer 0.0.1 channel 1'"),
        (frame(HELLO, 0, 0, b"\xff\x00"), "not understood"),
        (calling("add", 1, 2), "not understood: it speaks"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_it_ends_the_channel_with_a_reason(sent: bytes, reason: str) -> None:
    async def program() -> None:
        ours, theirs = socket.socketpair()
        target = RealCalculator()
        served = Served(contract=CALCULATOR, target=methods_of(CALCULATOR, target))
        channel = await Channel.open(ours, [CALCULATOR], [served], max_message=1_000_000)
        with theirs:
            theirs.sendall(sent[:3])
            await asyncio.sleep(0)
            theirs.setblocking(False)
            loop = asyncio.get_running_loop()
            await asyncio.gather(loop.sock_sendall(theirs, sent[3:]), return_exceptions=True)
            await channel.closed
        with pytest.raises(ChannelClosedError, match=reason):
            await CALCULATOR.proxy(channel).add(1)
        assert target.calls == []

    asyncio.run(asyncio.wait_for(program(), 5))


def test_a_result_that_does_not_fit_ends_the_channel() -> None:
    async def program() -> None:
        async with line(RealCalculator()) as one:
            with pytest.raises(ChannelClosedError, match="Expected `int`, got `str`"):
                await one.proxy.odd()

    asyncio.run(program())


def test_a_page_may_be_as_large_as_was_agreed_and_no_larger() -> None:
    async def program() -> None:
        target = RealCalculator()
        target.go.set()
        async with line(target, max_message=100_000) as one:
            fits = "x" * 99_000
            assert await one.proxy.wait(fits) == fits
            with pytest.raises(ChannelClosedError):
                await one.proxy.wait("x" * 100_000)
            assert target.calls == [fits]

    asyncio.run(program())


class NullTransport(asyncio.Transport):
    """A transport to nowhere."""

    def write(self, data: Any) -> None:  # noqa: ANN401 -- as declared by asyncio
        pass

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        pass


def test_what_came_with_the_end_is_carried_out_before_it_is_closed() -> None:
    async def program() -> None:
        target = RealCalculator()
        served = Served(contract=CALCULATOR, target=methods_of(CALCULATOR, target))
        channel = Channel([CALCULATOR], [served])
        channel.connection_made(NullTransport())
        channel.data_received(GREETING + calling("add", 1, 2) + calling("add", 3, 4))
        channel.connection_lost(None)
        await channel.closed
        assert target.calls == [(1, 2), (3, 4)]

    asyncio.run(program())


some_frames = st.lists(
    st.builds(
        frame,
        st.sampled_from([HELLO, CALL, NOTICE, RESULT, ERROR, 7, 255]),
        st.integers(0, 3),
        st.integers(0, 9),
        st.binary(max_size=30),
    ),
    max_size=6,
).map(b"".join)


@settings(max_examples=200, deadline=None)
@given(
    data=st.one_of(st.binary(max_size=200), some_frames),
    cuts=st.lists(st.integers(0, 200), max_size=5),
    greeted=st.booleans(),
)
def test_random_bytes_never_raise_and_never_reach_the_object(
    data: bytes, cuts: list[int], *, greeted: bool
) -> None:
    """But for frames that happen to fit, which are those of a caller."""

    async def program() -> None:
        target = RealCalculator()
        target.go.set()
        reached: list[tuple[object, ...]] = []

        def noting(name: str) -> Any:  # noqa: ANN401
            async def handler(*arguments: object) -> None:
                reached.append((name, *arguments))

            return handler

        served = Served(contract=CALCULATOR, target={name: noting(name) for name in NAMES})
        channel = Channel([CALCULATOR], [served], max_message=1000)
        channel.connection_made(NullTransport())
        fed = (GREETING if greeted else b"") + data
        for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(fed)], strict=True):
            channel.data_received(fed[begin:end])
        channel.connection_lost(None)
        await channel.closed
        if not greeted and not fed.startswith(GREETING):
            assert reached == []
        for name, *arguments in reached:
            method = CALCULATOR.methods[str(name)]
            method.read_arguments(msgspec.msgpack.encode(arguments))

    asyncio.run(program())
