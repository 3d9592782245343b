"""Faults of time: silence, drips, bodies without end, servers that ask to come back later."""

from collections.abc import Mapping

from gossamer.testing.replies import KeepOpen, Repeat, Reply
from gossamer.testing.simulator.fault import OK, Fault, Player, always, raw

_PAST = "Sun, 06 Nov 1994 08:49:37 GMT"
_HEAD = OK + b"Content-Length: 1000000\r\n\r\n"


def _later(status: int, **fields: str) -> Player:
    headers: Mapping[str, str] = {name.replace("_", "-"): value for name, value in fields.items()}
    return always(Reply(status=status, headers=headers))


SLOW = (
    Fault("silent", "accepts the connection and says nothing", raw(KeepOpen())),
    Fault("silent-host", "says nothing at all, on every path", raw(KeepOpen()), at=("/",)),
    Fault("silent-body", "stops after half of its page", raw(_HEAD + b"<p>half", KeepOpen())),
    Fault(
        "slow-header",
        "sends a line of its header every half second, for ever",
        raw(OK, Repeat(b"X: a\r\n", every_s=0.5)),
    ),
    Fault("slow-body", "sends a byte of its page every half second", raw(_HEAD, Repeat(b".", 0.5))),
    Fault("endless-body", "never ends its page", raw(OK + b"\r\n", Repeat(b"<p>more</p>" * 1_000))),
    Fault(
        "endless-chunks",
        "never ends its chunks",
        raw(
            OK + b"Transfer-Encoding: chunked\r\n\r\n", Repeat(b"1000\r\n" + b"." * 4096 + b"\r\n")
        ),
    ),
    Fault("error-500", "fails", _later(500)),
    Fault("error-503", "fails, and asks to come back in a second", _later(503, Retry_After="1")),
    Fault(
        "retry-after-years", "asks to come back in ten years", _later(429, Retry_After="315360000")
    ),
    Fault("retry-after-past", "asks to come back in the past", _later(503, Retry_After=_PAST)),
    Fault("retry-after-garbage", "asks to come back at no time", _later(429, Retry_After="soon")),
)
