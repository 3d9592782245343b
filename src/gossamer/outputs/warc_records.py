"""The records of an archive: what a page becomes.

A page is a `response` with the `request` that was made for it and `metadata` with its links; or, if
the archive has the same body already, a `revisit` in place of the response. Each record is a gzip
member of its own, so that one can be read without the others.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Final

import msgspec
from isal import isal_zlib

from gossamer.model import Page

_PROTOCOL: Final = re.compile(rb"HTTP/([23])(?:\.\d)?(?= )")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")


def archived_head(head: bytes, length: int) -> bytes:
    """Return the header of an answer, to stand before a body of that length."""
    status, *lines = head.rstrip(b"\r\n").splitlines()
    kept, has_length = [_PROTOCOL.sub(b"HTTP/1.1", status)], False
    for line in lines:
        name, _, value = line.partition(b":")
        match name.strip().lower():
            case b"transfer-encoding":
                kept.append(b"X-Crawl-" + line)
            case b"content-length" if has_length or value.strip() != b"%d" % length:
                kept.append(b"X-Crawl-" + line)
            case b"content-length":
                has_length = True
                kept.append(line)
            case _:
                kept.append(line)
    if not has_length:
        kept.append(b"Content-Length: %d" % length)
    return b"\r\n".join((*kept, b"", b""))


def protocol(head: bytes) -> str | None:
    """Return the name of the protocol if it is newer than HTTP/1.1."""
    found = _PROTOCOL.match(head)
    return None if found is None else f"h{found[1].decode()}"


def made_up_head(page: Page) -> bytes:
    """Return a header for a page of which none was kept: only what the crawl knows."""
    known = {status.value: status.phrase for status in HTTPStatus}
    content_type = _CONTROL.sub(" ", page.content_type).encode("latin-1", "replace")
    return b"HTTP/1.1 %d %b\r\n%bContent-Length: %d\r\n\r\n" % (
        page.status,
        known.get(page.status, "").encode(),
        b"Content-Type: %b\r\n" % content_type if content_type else b"",
        len(page.body),
    )


LEVEL: Final = 2
"""Of isal: as small as zlib makes it at its level 2, in a fifth of the time."""

IDENTICAL: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
# Base 32, two letters at a time: the standard library takes ten times as long for a digest.
_REQUEST: Final = re.compile(rb"GET (\S+) HTTP/\S+\r\nHost: (\S+)\r\n")
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS: Final = tuple(first + second for first in _LETTERS for second in _LETTERS)
_SHIFTS: Final = range(150, -10, -10)
_HTTP_RESPONSE: Final = "application/http; msgtype=response"
_HTTP_REQUEST: Final = "application/http; msgtype=request"
_FIELDS: Final = "application/warc-fields"
_NO_HEADER: Final = "the header of the answer was not kept: what stands for it has only the status \
and the content type"


class Capture(msgspec.Struct, frozen=True, gc=False):
    """A body in the archive: where it is from, and when it was received."""

    url: str
    date: str


class PageRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The records of a page, compressed."""

    answer: bytes
    """The response or the revisit, which stands first."""
    others: bytes


def payload_digest(page: Page) -> str:
    """Return the digest of a page's body as it was received."""
    return _digest(_payload(page))


def asked_url(page: Page) -> str:
    """Return the URL that was asked for: a redirect may have led to another spelling of it."""
    asked = _REQUEST.match(page.exchange.request) if page.exchange is not None else None
    if asked is None:
        return page.url
    scheme = page.url.partition("://")[0]
    return f"{scheme}://{asked[2].decode('latin-1')}{asked[1].decode('latin-1')}"


@lru_cache(16)
def warc_date(time: int) -> str:
    """Return a time, in whole seconds, as archives have it."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page_records(page: Page, digest: str, earlier: Capture | None, warcinfo: str) -> PageRecords:
    """Return the records of a page; `earlier` is where the archive has its body already."""
    record_id, payload = _new_id(), _payload(page)
    exchange = page.exchange
    head = made_up_head(page) if exchange is None else archived_head(exchange.head, len(payload))
    shared = [("WARC-Target-URI", asked_url(page)), ("WARC-Date", warc_date(int(page.fetched_at)))]
    shared.append(("WARC-Warcinfo-ID", warcinfo))
    if exchange is not None and exchange.address:
        shared.append(("WARC-IP-Address", exchange.address))
    if exchange is not None and (newer := protocol(exchange.head)) is not None:
        shared.append(("WARC-Protocol", newer))
    own = [*shared, ("WARC-Payload-Digest", digest), ("Content-Type", _HTTP_RESPONSE)]
    if earlier is None:
        answer = _member("response", record_id, own, (head, payload))
    else:
        own += [
            ("WARC-Profile", IDENTICAL),
            ("WARC-Refers-To-Target-URI", earlier.url),
            ("WARC-Refers-To-Date", earlier.date),
        ]
        answer = _member("revisit", record_id, own, (head,))
    others = b"".join(_others(page, [*shared, ("WARC-Concurrent-To", record_id)]))
    return PageRecords(answer=answer, others=others)


def warcinfo_record(record_id: str, file_name: str, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the record that an archive begins with, compressed."""
    now = int(datetime.now(UTC).timestamp())
    headers = [("WARC-Date", warc_date(now)), ("WARC-Filename", file_name)]
    return _member("warcinfo", record_id, [*headers, ("Content-Type", _FIELDS)], (_lines(fields),))


def _others(page: Page, shared: list[tuple[str, str]]) -> Iterable[bytes]:
    exchange = page.exchange
    if exchange is not None:
        headers = [*shared, ("Content-Type", _HTTP_REQUEST)]
        yield _member("request", _new_id(), headers, (exchange.request,))
    fields = [("outlink", str(url)) for url in dict.fromkeys(page.links)]
    if page.referrer is not None:
        fields.insert(0, ("via", page.referrer))
    if page.encoding:
        fields.insert(0, ("charset-detected", page.encoding))
    if exchange is None:
        fields.insert(0, ("note", _NO_HEADER))
    yield _member("metadata", _new_id(), [*shared, ("Content-Type", _FIELDS)], (_lines(fields),))


def _payload(page: Page) -> bytes:
    """Return the body as received; one without a header to tell its coding is the decoded one."""
    return page.body if page.exchange is None else page.wire_body


def _lines(fields: Iterable[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in fields).encode()


def _new_id() -> str:
    """Return a random id, as `uuid4` has it in a fraction of the time."""
    drawn = os.urandom(16).hex()
    variant = "89ab"[int(drawn[16], 16) & 3]
    return (
        f"<urn:uuid:{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-{variant}{drawn[17:20]}-{drawn[20:]}>"
    )


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    number = int.from_bytes(digest.digest())
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def _member(
    kind: str, record_id: str, headers: Iterable[tuple[str, str]], block: tuple[bytes, ...]
) -> bytes:
    """Return a record as a gzip member."""
    head = [("WARC-Type", kind), ("WARC-Record-ID", record_id), *headers]
    head.append(("WARC-Block-Digest", _digest(*block)))
    head.append(("Content-Length", str(sum(map(len, block)))))
    packer = isal_zlib.compressobj(LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    parts = [packer.compress(b"WARC/1.1\r\n" + _lines(head) + b"\r\n")]
    parts += map(packer.compress, block)
    return b"".join((*parts, packer.compress(b"\r\n\r\n"), packer.flush()))
