"""Faults of TLS: certificates that prove nothing, and handshakes that are none."""

import ssl
from collections.abc import Callable

from tests.webs.certificates import Certificates

from gossamer.testing.simulator import Fault, FaultRequest
from gossamer.testing.site import KeepOpen, Raw, RawStep, Repeat

MakesContext = Callable[[Certificates, str], ssl.SSLContext]
"""Returns what a host of that name shows to clients of TLS."""


class TlsFault(Fault, frozen=True, kw_only=True):
    """A fault of a host that is asked over https."""

    tls: Raw | MakesContext
    """How it meets a client: with a handshake, or with these bytes instead."""


_FATAL = b"\x15\x03\x03\x00\x02\x02"
_NAME_UNKNOWN = _FATAL + b"\x70"
# A ServerHello of TLS 1.0: version, random, no session, a cipher, no compression.
_HELLO_BODY = b"\x03\x01" + bytes(32) + b"\x00" + b"\x00\x2f" + b"\x00"
_HELLO = b"\x02" + len(_HELLO_BODY).to_bytes(3, "big") + _HELLO_BODY
_OLD = b"\x16\x03\x01" + len(_HELLO).to_bytes(2, "big") + _HELLO


def never(_request: FaultRequest) -> None:
    """Leave every request to the honest part of the host."""


def _instead(name: str, summary: str, *steps: RawStep) -> TlsFault:
    """Return a fault that sends these bytes instead of a handshake."""
    return TlsFault(name, summary, never, tls=Raw(steps))


def _showing(name: str, summary: str, make: MakesContext) -> TlsFault:
    """Return a fault of a certificate."""
    return TlsFault(name, summary, never, tls=make)


TLS = (
    _showing("tls-expired", "shows a certificate that has run out", Certificates.expired),
    _showing("tls-other-host", "shows the certificate of another host", Certificates.of_other_host),
    _showing(
        "tls-self-signed", "shows its own authority, which nobody knows", Certificates.self_signed
    ),
    _showing(
        "tls-unknown-authority",
        "has a certificate that nobody knows who signed",
        Certificates.of_unknown_authority,
    ),
    _showing("tls-long-chain", "shows 500 certificates", Certificates.of_long_chain),
    _instead("tls-old", "speaks TLS 1.0 only", _OLD, KeepOpen()),
    _instead("tls-name-unknown", "knows nobody of its name", _NAME_UNKNOWN),
    _instead("tls-plain", "speaks plain HTTP at the port of https", b"HTTP/1.1 200 OK\r\n\r\nhi"),
    _instead("tls-closes", "closes in the handshake"),
    _instead("tls-silent", "never begins its handshake", KeepOpen()),
    _instead(
        "tls-slow",
        "sends a byte of its handshake every half second",
        b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc",
        Repeat(b"\x03", every_s=0.5),
    ),
)
