"""The translation of libcurl's error codes to causes. No other file uses a code."""

from typing import NamedTuple

import pycurl

from gossamer.model import Cause

# Codes that pycurl has no name for.
_E_HTTP2_STREAM = 92
_E_PROXY = 97
_E_TOO_LARGE = 100

_CAUSES = {
    # An unknown version of HTTP, or none at all (HTTP/0.9).
    pycurl.E_UNSUPPORTED_PROTOCOL: Cause.BAD_HTTP,
    # The URL standard allows host names ("a*b") that libcurl, and DNS, do not.
    pycurl.E_URL_MALFORMAT: Cause.NAME_NOT_FOUND,
    pycurl.E_COULDNT_RESOLVE_HOST: Cause.NAME_NOT_FOUND,
    pycurl.E_COULDNT_CONNECT: Cause.CONNECTION_REFUSED,
    # All other time limits are the watchdog's.
    pycurl.E_OPERATION_TIMEDOUT: Cause.CONNECT_TIMEOUT,
    pycurl.E_FTP_WEIRD_SERVER_REPLY: Cause.BAD_HTTP,
    pycurl.E_PARTIAL_FILE: Cause.CONNECTION_LOST,
    pycurl.E_SSL_CONNECT_ERROR: Cause.TLS_FAILED,
    pycurl.E_GOT_NOTHING: Cause.CONNECTION_LOST,
    pycurl.E_SEND_ERROR: Cause.CONNECTION_LOST,
    pycurl.E_RECV_ERROR: Cause.CONNECTION_LOST,
    pycurl.E_SSL_CIPHER: Cause.TLS_FAILED,
    pycurl.E_PEER_FAILED_VERIFICATION: Cause.CERTIFICATE_INVALID,
    pycurl.E_SSL_CACERT_BADFILE: Cause.CERTIFICATE_INVALID,
    # Content codings are not libcurl's business here, so this is a transfer coding.
    pycurl.E_BAD_CONTENT_ENCODING: Cause.BAD_HTTP,
    pycurl.E_HTTP2: Cause.BAD_HTTP,
    _E_HTTP2_STREAM: Cause.BAD_HTTP,
    pycurl.E_COULDNT_RESOLVE_PROXY: Cause.PROXY_FAILED,
    _E_PROXY: Cause.PROXY_FAILED,
    # A client certificate or its key was there at the start and is not any more.
    pycurl.E_SSL_CERTPROBLEM: Cause.TLS_FAILED,
    _E_TOO_LARGE: Cause.HEADERS_TOO_LARGE,
}
_OF_TLS = {Cause.TLS_FAILED, Cause.CERTIFICATE_INVALID}
_BEFORE_A_TUNNEL = {pycurl.E_COULDNT_CONNECT, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR}
"""What a proxy is to blame for that is not there, or makes no connection."""

_PLAINLY = {
    "wrong version number": "it does not speak TLS there",
    "unsupported protocol": "it speaks only versions of TLS that are not safe any more",
    "alert protocol version": "it speaks only versions of TLS that are not safe any more",
    "unrecognized name": "it has no host of this name",
    "excessive message size": "it shows more certificates than a host can need",
    "unexpected eof": "it closed the connection",
    "local issuer certificate": "nobody who is trusted has signed it",
    "self-signed certificate": "the host has signed it itself",
}
"""What the words of OpenSSL mean."""

_BREAKS = {pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR}
"""What a connection ends with that the other side has closed."""


class CurlFailure(NamedTuple):
    """An error of libcurl: why a transfer failed."""

    code: int
    message: str


def cause_of(failure: CurlFailure, *, connected: bool, proxied: bool = False) -> Cause:
    """Return the cause of a failure; `connected`: the request was sent; `proxied`: to a proxy."""
    if proxied and not connected and failure.code in _BEFORE_A_TUNNEL:
        return Cause.PROXY_FAILED
    # A broken connection and broken chunks have the same code; only the messages differ.
    if failure.code == pycurl.E_RECV_ERROR and "chunk" in failure.message.lower():
        return Cause.BAD_HTTP
    return _CAUSES.get(failure.code, Cause.CONNECTION_LOST)


def explained(failure: CurlFailure) -> str:
    """Return the message of a failure, behind what it means if only experts know that."""
    if cause_of(failure, connected=False) in _OF_TLS:
        for part, meaning in _PLAINLY.items():
            if part in failure.message:
                return f"{meaning}: {failure.message}"
    return failure.message


def is_break(failure: CurlFailure) -> bool:
    """Return whether the connection broke."""
    return failure.code in _BREAKS


def is_ours(failure: CurlFailure) -> bool:
    """Return whether libcurl or one of our callbacks ran out of memory.

    Callbacks that end a transfer note a reason, so without one pycurl could not even call them for
    lack of memory.
    """
    return failure.code in {pycurl.E_OUT_OF_MEMORY, pycurl.E_WRITE_ERROR}
