"""What is known of a robots.txt as few bytes, for the many hosts that are not asked just now."""

import zlib
from typing import Final

import msgspec

from gossamer.model import Cause
from gossamer.policy.robots import RobotsRules
from gossamer.policy.robots_rule import read_rule
from gossamer.policy.robots_state import RobotsState

_COMPRESSED: Final = b"z"
_PLAIN: Final = b"p"
_WORTH_COMPRESSING: Final = 200


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    """A state without the sitemaps that the file announces: they are read when it is fetched."""

    check_at: float
    copied_at: float | None
    failures: int
    trouble: str
    cause: str | None
    crawl_delay_s: float | None
    rules: list[tuple[bool, bytes, int]] | None
    """Whether each allows, its path as written, and its line; None: the file is unreachable."""


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Packed)


def pack_state(state: RobotsState) -> bytes:
    """Return a state as bytes."""
    rules = state.rules
    packed = _Packed(
        check_at=state.check_at,
        copied_at=state.copied_at,
        failures=state.failures,
        trouble=state.trouble,
        cause=state.cause.name if state.cause else None,
        crawl_delay_s=rules.crawl_delay_s if rules else None,
        rules=[(rule.allows, rule.written, rule.line) for rule in rules.rules] if rules else None,
    )
    encoded = _ENCODER.encode(packed)
    if len(encoded) < _WORTH_COMPRESSING:
        return _PLAIN + encoded
    return _COMPRESSED + zlib.compress(encoded, 1)


def unpack_state(packed: bytes) -> RobotsState:
    """Return the state again."""
    encoded = packed[1:]
    found = _DECODER.decode(zlib.decompress(encoded) if packed[:1] == _COMPRESSED else encoded)
    rules = None
    if found.rules is not None:
        read = (read_rule(allows, written, line) for allows, written, line in found.rules)
        rules = RobotsRules([rule for rule in read if rule], found.crawl_delay_s)
    return RobotsState(
        rules=rules,
        check_at=found.check_at,
        copied_at=found.copied_at,
        failures=found.failures,
        trouble=found.trouble,
        cause=Cause[found.cause] if found.cause else None,
    )
