"""Carries the messages of a divided crawl from the outboxes of senders to their receivers.

Messages of one sender for one receiver have growing numbers, and each names the one before. The
receiver takes in what is later than the last that it has had, in one step with what the message
says, so it does not matter who delivers, how often, or who died while he did. Messages that were
taken in are kept by the sender for some seconds: a receiver that has lost its last moments finds
that one is missing, and they are fetched again. A sender that has lost its last moments repeats
no number.
"""

import asyncio
import struct
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from gossamer.stores.redis.courier import Courier
from gossamer.stores.redis.messages import pack
from gossamer.stores.redis.scripts import Kind, script

AT_ONCE, AT_ONCE_BYTES = 64, 1_000_000
"""How much goes to a receiver in one step; one message may be larger."""

_LENGTH = struct.Struct(">I")


class Address(msgspec.Struct, frozen=True):
    """Where messages of one sender for one receiver come from and go to."""

    sender: int
    receiver: int


class Office(msgspec.Struct, frozen=True):
    """A partition or the centre, as one that sends and receives."""

    courier: Courier
    kind: Kind


class Received(msgspec.Struct, frozen=True):
    """What a receiver has to tell."""

    last: int
    """The last message that it has from the sender."""
    new: list[tuple[int, int]]
    """Links that wait now and did not before: the message, and the place in it from 1."""
    nearer: list[tuple[int, int]]
    """Pages to which a shorter path was found, with their depth."""
    posted: list[tuple[int, int]]
    """What it has sent in its turn: receiver and number."""


class Effects(msgspec.Struct):
    """What came of everything that was delivered."""

    new: dict[tuple[Address, int], list[int]] = {}
    """For each message the places of its new links."""
    nearer: dict[int, int] = {}
    """The new depth of pages."""


_read = msgspec.msgpack.Decoder(Received).decode


class Post:
    """Delivers, for one process; the offices are in the order of their numbers."""

    def __init__(self, offices: Sequence[Office]) -> None:
        self._offices = offices
        self._taken_in: defaultdict[Address, int] = defaultdict(int)
        self._locks: defaultdict[Address, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._watched: dict[tuple[Address, int], list[int]] = {}

    def __repr__(self) -> str:
        return f"<Post: {len(self._offices)} offices>"

    async def deliver(self, sender: int, posted: Iterable[tuple[int, int]], now: float) -> Effects:
        """Deliver the messages of a sender up to these, and all that is sent in consequence.

        Of what others deliver at the same time the effects are not known here.
        """
        effects = Effects()
        line = deque(_latest(sender, posted))
        own = [(address, number) for address, number in line]
        for one in own:
            self._watched[one] = []
        while line:
            address, number = line.popleft()
            async with self._locks[address]:
                line += await self._carry(address, number, effects, now)
        effects.new = {one: self._watched.pop(one) for one in own if one in self._watched}
        return effects

    async def deliver_since(self, taken_in: Mapping[Address, int], now: float) -> None:
        """Deliver everything after these messages, and all that is sent in consequence."""
        for address, last in taken_in.items():
            effects = Effects()
            async with self._locks[address]:
                self._taken_in[address] = last
                posted = await self._carry(address, None, effects, now)
            for one, number in posted:
                await self.deliver(one.sender, [(one.receiver, number)], now)

    async def _carry(
        self, address: Address, until: int | None, effects: Effects, now: float
    ) -> list[tuple[Address, int]]:
        """Deliver up to a message, or all; return what the receiver has sent in its turn."""
        sender, receiver = self._offices[address.sender], self._offices[address.receiver]
        sent: list[tuple[Address, int]] = []
        is_stuck = False
        while until is None or self._taken_in[address] < until:
            since = self._taken_in[address]
            fetch = pack((address.receiver, since, AT_ONCE, AT_ONCE_BYTES))
            letters = [
                *_split(await sender.courier.ask(script("outgoing", sender.kind), now, fetch))
            ]
            if not letters:
                break
            step = script("receive", receiver.kind)
            about = pack((address.sender, is_stuck))
            told = _read(await receiver.courier.ask(step, now, about, *letters))
            is_stuck = told.last == since  # what is missing there is not here any more either
            self._taken_in[address] = told.last
            sent += _latest(address.receiver, told.posted)
            effects.nearer.update(told.nearer)
            for number, place in told.new:
                if (found := self._watched.get((address, number))) is not None:
                    found.append(place)
        return sent


def _latest(sender: int, posted: Iterable[tuple[int, int]]) -> list[tuple[Address, int]]:
    """Return the last message for each receiver."""
    last: dict[int, int] = {}
    for receiver, number in posted:
        last[receiver] = max(number, last.get(receiver, 0))
    return [(Address(sender, receiver), number) for receiver, number in last.items()]


def _split(letters: bytes) -> Iterator[bytes]:
    """Yield what stands after each length."""
    place = 0
    while place < len(letters):
        (size,) = _LENGTH.unpack_from(letters, place)
        place += _LENGTH.size
        yield letters[place : place + size]
        place += size
