"""Faults of HTTP/2: floods of frames, and streams that lead nowhere.

They are played to clients that offer HTTP/2, on the first request of each connection; to others
the host is an honest one.
"""

import ssl

from tests.webs.certificates import Certificates
from tests.webs.http2_frames import END_HEADERS, PADDED, PREFACE_TARGET, Frame, field, frame
from tests.webs.tls_faults import TlsFault

from gossamer.testing.simulator.fault import raw
from gossamer.testing.site import KeepOpen, RawStep, Repeat

_STREAM = 1
_REFUSED = (7).to_bytes(4, "big")
_SETTINGS = frame(Frame.SETTINGS)
_OK = b"\x88" + field(b"content-type", b"text/html")
_ANSWER = frame(Frame.HEADERS, END_HEADERS, _STREAM, _OK)
_MANY_FIELDS = field(b"x", b"y" * 100) * 150
# A field of 4 kB that goes into the table, and then 12,000 times what stands there.
_LONG = b"\x40\x01x\x7f" + b"\xa1\x1e" + b"y" * 4_000
_UNPACKING = b"\x88" + _LONG + b"\xbe" * 12_000
_GIANT_SETTINGS = frame(Frame.SETTINGS, payload=b"\0\x99\0\0\0\0" * 2_700)


def _with_http2(certificates: Certificates, name: str) -> ssl.SSLContext:
    context = certificates.valid(name)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def _fault(name: str, summary: str, *steps: RawStep) -> TlsFault:
    return TlsFault(name, summary, raw(_SETTINGS, *steps), at=(PREFACE_TARGET,), tls=_with_http2)


HTTP2 = (
    _fault("h2-silent", "never answers", KeepOpen()),
    _fault("h2-goaway", "says goodbye at once", frame(Frame.GOAWAY, payload=bytes(8)), KeepOpen()),
    _fault(
        "h2-refused",
        "refuses every request",
        frame(Frame.RST_STREAM, 0, _STREAM, _REFUSED),
        KeepOpen(),
    ),
    _fault(
        "h2-resets",
        "answers, and resets without end",
        _ANSWER,
        Repeat(frame(Frame.RST_STREAM, 0, _STREAM, _REFUSED) * 500),
    ),
    _fault(
        "h2-continuations",
        "never ends its header",
        frame(Frame.HEADERS, 0, _STREAM, _OK),
        Repeat(frame(Frame.CONTINUATION, 0, _STREAM, _MANY_FIELDS)),
    ),
    _fault(
        "h2-header-bomb",
        "unpacks to a header of 48 MB",
        frame(Frame.HEADERS, END_HEADERS, _STREAM, _UNPACKING),
        KeepOpen(),
    ),
    _fault("h2-settings", "sends giant settings without end", Repeat(_GIANT_SETTINGS)),
    _fault(
        "h2-pings", "sends pings without end", Repeat(frame(Frame.PING, payload=bytes(8)) * 500)
    ),
    _fault(
        "h2-empty-data",
        "sends pieces of no bytes without end",
        _ANSWER,
        Repeat(frame(Frame.DATA, 0, _STREAM) * 1_000),
    ),
    _fault(
        "h2-padding",
        "sends one byte in each 265, the others pad it",
        _ANSWER,
        Repeat(frame(Frame.DATA, PADDED, _STREAM, b"\xff." + bytes(255)) * 100),
    ),
)
