"""What is remembered of the robots.txt of very many authorities, within a limit.

Those in use are ready to be asked. The others are packed: most take half a kilobyte. Files with a
great many rules have a limit of their own, or a few of them would displace all the others.
"""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

import msgspec

from gossamer.policy import RobotsState
from gossamer.policy.robots_packed import pack_state, unpack_state

LARGE_BYTES: Final = 16 * 1024
"""A packed file of this size is large: unpacking it takes a while."""

ENTRY_BYTES: Final = 450
"""What an authority takes beside its rules."""


class RobotsLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much memory may be used for rules."""

    ready_bytes: int = 16 * 1024 * 1024
    """For those ready to be asked: the largest file takes about as much."""
    packed_bytes: int = 128 * 1024 * 1024
    """For those packed: 100,000 authorities with a kilobyte each."""
    large_bytes: int = 32 * 1024 * 1024
    """For those packed that are large."""


class PackedRobots(msgspec.Struct, frozen=True, gc=False):
    """The packed state of a robots.txt, and what is asked for without its rules."""

    packed: bytes
    check_at: float
    crawl_delay_s: float | None

    @property
    def is_large(self) -> bool:
        """Whether unpacking takes a while."""
        return len(self.packed) >= LARGE_BYTES

    def unpack(self) -> RobotsState:
        """Return the state."""
        return unpack_state(self.packed)


_Kept = TypeVar("_Kept")


class _Limited(Generic[_Kept]):
    """Values of authorities up to a number of bytes; the least recently used are forgotten."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[str, tuple[_Kept, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def get(self, key: str) -> _Kept | None:
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: str, value: _Kept, size: int) -> None:
        self.drop(key)
        self._values[key] = value, size
        self.bytes += size
        while self.bytes > self._max_bytes and len(self._values) > 1:
            _, (_, forgotten) = self._values.popitem(last=False)
            self.bytes -= forgotten

    def drop(self, key: str) -> None:
        replaced = self._values.pop(key, None)
        if replaced is not None:
            self.bytes -= replaced[1]


class RobotsMemory:
    """The states of the robots.txt of all authorities, ready or packed."""

    def __init__(self, limits: RobotsLimits) -> None:
        self._ready: _Limited[RobotsState] = _Limited(limits.ready_bytes)
        self._small: _Limited[PackedRobots] = _Limited(limits.packed_bytes)
        self._large: _Limited[PackedRobots] = _Limited(limits.large_bytes)

    def __repr__(self) -> str:
        authorities, size = len(self._small) + len(self._large), self._small.bytes
        return f"{authorities} authorities, {size + self._large.bytes} bytes"

    def ready(self, key: str) -> RobotsState | None:
        """Return the state of an authority; None if it is packed, or not known."""
        return self._ready.get(key)

    def packed(self, key: str) -> PackedRobots | None:
        """Return the packed state of an authority; None if it is not known."""
        return self._small.get(key) or self._large.get(key)

    def keep(self, key: str, state: RobotsState, packed: PackedRobots) -> None:
        """Remember a state."""
        size = ENTRY_BYTES + len(key) + len(packed.packed)
        (self._small if packed.is_large else self._large).drop(key)
        (self._large if packed.is_large else self._small).put(key, packed, size)
        self.make_ready(key, state)

    def make_ready(self, key: str, state: RobotsState) -> None:
        """Have a state ready that was packed."""
        rules = state.rules.footprint_bytes if state.rules else 0
        self._ready.put(key, state, ENTRY_BYTES + rules)


def pack(state: RobotsState) -> PackedRobots:
    """Return a state packed."""
    delay_s = state.rules.crawl_delay_s if state.rules else None
    return PackedRobots(pack_state(state), state.check_at, delay_s)
