"""Faults of content: content codings, types and charsets that lie, and markup that explodes."""

import gzip
import struct
import zlib
from collections.abc import Callable
from functools import cache

import brotli  # type: ignore[import-untyped]  # it ships no types
import msgspec

from gossamer.testing.simulator.fault import END, Fault, answers, ended, linking, typed
from gossamer.testing.site import Reply


class Language(msgspec.Struct, frozen=True):
    """A language, some of its words, and how its pages are written."""

    code: str
    charset: str
    words: tuple[str, ...]
    in_header: bool = True
    """Whether the charset is in the HTTP header; else it is in the page."""


_ENGLISH = "the of and web river stone house light water morning road paper small green old made"
_GERMAN = "der die und Straße Fluss schön Haus Licht Wasser Morgen über Papier klein grün alt für"
_FRENCH = "le la et rivière pierre maison lumière eau matin été papier petit vert déjà fait où"
_RUSSIAN = "и в не река камень дом свет вода утро дорога бумага малый старый сделал мост лес"
_JAPANESE = "川 石 家 光 水 朝 道 紙 小さい 緑 古い 作る 橋 森 空 山"
_CHINESE = "河 石头 房子 光 水 早晨 路 纸 小 绿 老 做 桥 森林 天空 山"

LANGUAGES = (
    Language("en", "utf-8", tuple(_ENGLISH.split())),
    Language("en", "us-ascii", tuple(_ENGLISH.split()), in_header=False),
    Language("de", "iso-8859-1", tuple(_GERMAN.split())),
    Language("fr", "windows-1252", tuple(_FRENCH.split()), in_header=False),
    Language("ru", "windows-1251", tuple(_RUSSIAN.split())),
    Language("ja", "shift_jis", tuple(_JAPANESE.split()), in_header=False),
    Language("zh", "gb18030", tuple(_CHINESE.split())),
)


_PAGE = b"<!doctype html><title>Packed</title><p>A page that was packed with care.</p>"
_GZIP = gzip.compress(_PAGE, mtime=0)
_ZEROS = bytes(1_000_000)
_BLOCKS = 200


def _packed(coding: str, body: bytes) -> Reply:
    return Reply(headers={"Content-Encoding": coding}, body=body)


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
    answers("gzip-false", "says gzip and sends plain text", _packed("gzip", _PAGE)),
    answers("gzip-cut", "ends its gzip too early", _packed("gzip", _GZIP[:-12])),
    answers("gzip-trailing", "has junk behind its gzip", _packed("gzip", _GZIP + b"junk" * 10)),
    answers(
        "gzip-twice", "packs its page twice", _packed("gzip, gzip", gzip.compress(_GZIP, mtime=0))
    ),
    answers("coding-unknown", "has a coding that nobody knows", _packed("foo", _PAGE)),
    answers("codings-many", "names twenty codings", _packed(", ".join(["gzip"] * 20), _PAGE)),
    Fault("gzip-bomb", "unpacks to 200 MB of gzip", lambda _: _packed("gzip", gzip_bomb())),
    Fault("brotli-bomb", "unpacks to 50 MB of brotli", lambda _: _packed("br", _brotli_bomb())),
)


_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0:~\x9bU"
_ZIP = b"PK\x03\x04\x14\0\0\0\0\0" + bytes(200)
EVIL = "\x1b]0;mine\x07 \x1b]52;c;QQ==\x07 \x9b2J \x7f \u202egone"
"""What would steer a terminal."""

_TYPES = (
    answers("html-as-text", "sends HTML as text", typed(linking(END), "text/plain")),
    answers("png-as-html", "sends a picture as HTML", typed(_PNG * 50)),
    answers("zip-as-html", "sends an archive as HTML", typed(_ZIP)),
    answers("type-missing", "names no type", typed(linking(END), "")),
    answers(
        "type-evil", "puts escape sequences into its header", typed("hi", f"text/html; {EVIL}")
    ),
)
_CHARSETS = (
    answers(
        "charset-lies",
        "names one charset in its header and another in its page",
        typed("<meta charset=shift_jis><p>Grüße".encode("cp1252"), "text/html; charset=utf-8"),
    ),
    answers(
        "charset-unknown", "names a charset that nobody knows", typed("hi", "text/html; charset=x")
    ),
    answers(
        "charset-utf7",
        "names a charset that hides markup",
        typed("+ADw-a+AD4-", "text/html; charset=utf-7"),
    ),
    answers(
        "charset-utf16", "has a byte order mark", typed(linking(END).encode("utf-16"), "text/html")
    ),
    answers("bytes-random", "sends bytes that are no text", typed(bytes(range(1, 256)) * 40)),
)

CONTENT = (*_TYPES, *_CHARSETS)


_BASES = '<base href="/fault/"><base href="javascript:1"><base href="http://nobody.invalid/">'


def _large(name: str, summary: str, make: Callable[[], str]) -> Fault:
    """Return a fault whose page is made when it is asked for, once."""
    body = cache(make)
    return Fault(name, summary, ended(lambda: Reply(body=body())))


MARKUP = (
    _large(
        "nested-tags", "nests a hundred thousand tags", lambda: "<div>" * 100_000 + linking(END)
    ),
    _large(
        "tags-reopened",
        "never closes its formatting",
        lambda: "<b a=1 c=2>" * 400 + "<p>x" * 20_000 + linking(END),
    ),
    _large(
        "attributes-many",
        "has a tag of 100,000 attributes",
        lambda: f"<p {' '.join(f'a{number}=1' for number in range(100_000))}>" + linking(END),
    ),
    answers(
        "attribute-open", "never closes an attribute", typed('<a href="/fault/end>' + "x" * 99_999)
    ),
    _large("bases-many", "has several bases", lambda: linking("end", head=_BASES)),
    _large(
        "links-many",
        "has a hundred thousand links",
        lambda: linking(*(f"/p{number}.html?n={number}" for number in range(100_000))),
    ),
    _large(
        "base-long",
        "has a long base and thousands of short links",
        lambda: linking(*map(str, range(9_000)), head=f'<base href="/{"b" * 7_900}/">'),
    ),
)
