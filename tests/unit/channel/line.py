"""A channel within one process, over a real pair of sockets, and an object at its other end."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from gossamer.channel import Channel, Contract, Served
from gossamer.channel.channel import methods_of


class Calculator(Protocol):
    """What the object at the other end can do."""

    async def add(self, a: int, b: int = 1) -> int:
        """Return a sum."""

    async def fail(self, error: str, words: str) -> None:
        """Raise an error of a kind."""

    async def wait(self, name: str) -> str:
        """Return when it is let go."""

    async def odd(self) -> int:
        """Return what is not an integer."""


CALCULATOR: Contract[Calculator] = Contract(Calculator)


class RealCalculator:
    """The object at the other end; notes what reached it."""

    def __init__(self, errors: Sequence[type[Exception]] = ()) -> None:
        self.calls: list[object] = []
        self.go = asyncio.Event()
        self._errors = {one.__name__: one for one in errors}

    async def add(self, a: int, b: int = 1) -> int:
        self.calls.append((a, b))
        return a + b

    async def fail(self, error: str, words: str) -> None:
        self.calls.append(error)
        raise self._errors[error](words)

    async def wait(self, name: str) -> str:
        self.calls.append(name)
        await self.go.wait()
        return name

    async def odd(self) -> object:
        return "three"


class Line:
    """Both ends of a channel."""

    def __init__(self, near: Channel, far: Channel, target: RealCalculator) -> None:
        self.near, self.far, self.target = near, far, target
        self.proxy = CALCULATOR.proxy(near)


@asynccontextmanager
async def line(
    target: RealCalculator,
    *,
    at_once: frozenset[str] | None = frozenset(),
    without: str = "",
    max_message: int = 1_000_000,
) -> AsyncIterator[Line]:
    """Open a channel to an object; both ends are closed at the end, and nothing may be left."""
    ours, theirs = socket.socketpair()
    methods = methods_of(CALCULATOR, target)
    methods.pop(without, None)
    served = Served(contract=CALCULATOR, target=methods, at_once=at_once)
    async with asyncio.timeout(5):
        far = await Channel.open(theirs, [CALCULATOR], [served], max_message=max_message)
        near = await Channel.open(ours, [CALCULATOR])
        try:
            yield Line(near, far, target)
        finally:
            await near.close()
            await asyncio.wait([far.closed])
