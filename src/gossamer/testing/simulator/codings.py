"""Faults of content codings: false, cut, unknown and nested ones, and bombs."""

import gzip
import struct
import zlib
from functools import cache

import brotli  # type: ignore[import-untyped]  # it ships no types

from gossamer.testing.replies import Reply
from gossamer.testing.simulator.fault import Fault, FaultRequest

_PAGE = b"<!doctype html><title>Packed</title><p>A page that was packed with care.</p>"
_ZEROS = bytes(1_000_000)
_BLOCKS = 200


def _packed(coding: str, body: bytes) -> Reply:
    return Reply(headers={"Content-Encoding": coding}, body=body)


def _gzip_false(_request: FaultRequest) -> Reply:
    return _packed("gzip", _PAGE)


def _gzip_cut(_request: FaultRequest) -> Reply:
    return _packed("gzip", gzip.compress(_PAGE, mtime=0)[:-12])


def _gzip_trailing(_request: FaultRequest) -> Reply:
    return _packed("gzip", gzip.compress(_PAGE, mtime=0) + b"junk" * 10)


def _gzip_twice(_request: FaultRequest) -> Reply:
    return _packed("gzip, gzip", gzip.compress(gzip.compress(_PAGE, mtime=0), mtime=0))


def _coding_unknown(_request: FaultRequest) -> Reply:
    return _packed("foo", _PAGE)


def _codings_many(_request: FaultRequest) -> Reply:
    return _packed(", ".join(["gzip"] * 20), _PAGE)


@cache
def gzip_bomb() -> bytes:
    """Return 200 kB that unpack to 200 MB: one block of zeros, again and again."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(_ZEROS) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = 0
    for _ in range(_BLOCKS):
        checksum = zlib.crc32(_ZEROS, checksum)
    head, end = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff", b"\x03\x00"
    return head + block * _BLOCKS + end + struct.pack("<LL", checksum, _BLOCKS * len(_ZEROS))


@cache
def _brotli_bomb() -> bytes:
    return bytes(brotli.compress(_ZEROS * 50, quality=1))


CODINGS = (
    Fault("gzip-false", "says gzip and sends plain text", _gzip_false),
    Fault("gzip-cut", "ends its gzip too early", _gzip_cut),
    Fault("gzip-trailing", "has junk behind its gzip", _gzip_trailing),
    Fault("gzip-twice", "packs its page twice", _gzip_twice),
    Fault("coding-unknown", "has a coding that nobody knows", _coding_unknown),
    Fault("codings-many", "names twenty codings", _codings_many),
    Fault("gzip-bomb", "unpacks to 200 MB of gzip", lambda _: _packed("gzip", gzip_bomb())),
    Fault("brotli-bomb", "unpacks to 50 MB of brotli", lambda _: _packed("br", _brotli_bomb())),
)
