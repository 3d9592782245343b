"""The header of an answer as an archive holds it: readers must find the body that belongs to it.

The body in an archive has its content coding, as it was received. It has no transfer coding any
more, which the HTTP library has removed. So, as Common Crawl does it,

- `Transfer-Encoding` is called `X-Crawl-Transfer-Encoding`: nobody shall look for chunks;
- a `Content-Length` that is not that of the body is called `X-Crawl-Content-Length`, and if there
  is no right one it is added;
- the status line of HTTP/2 and HTTP/3, which is made up by the library, says `HTTP/1.1`, and the
  record says the protocol.
"""

import re
from http import HTTPStatus
from typing import Final

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
