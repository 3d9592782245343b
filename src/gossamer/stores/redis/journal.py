"""The journal of a crawl in Redis: which rows its commits change, while somebody copies it.

Whoever copies sets the key `watched`, which runs out by itself. A commit that finds it appends to
the list `journal` what it changes. So what was copied and has changed since can be read again. For
the last of it commits are held up for a moment, by the key `hold`, which runs out even sooner.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.stores.rows import Changes

WATCHED_S: Final = 60
"""How long changes are noted after the last word of who copies."""
HOLD_S: Final = 2.0
"""How long commits wait at most."""


class ChangedRows(msgspec.Struct, array_like=True):
    """The rows that were changed: their ids, numbers and names."""

    commit: int = 0
    """The number of the commit."""
    urls: Sequence[int] = ()
    """Those whose row, links, lease or place in `relaxing` has changed."""
    hosts: Sequence[int] = ()
    pages: Sequence[int] = ()
    domains: Sequence[str] = ()


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(ChangedRows).decode


def rows_of(changes: Changes) -> ChangedRows:
    """Return what changes are about."""
    urls = changes.urls, changes.url_changes, changes.links, changes.leases, changes.relaxing
    pages = changes.pages, changes.reported, changes.contents, changes.sketches, changes.dropped
    return ChangedRows(
        urls=[*set[int]().union(*urls)],
        hosts=[*changes.hosts.keys() | changes.host_urls.keys()],
        pages=[*set[int]().union(*pages)],
        domains=[*changes.domains],
    )


def pack_entry(commit: int, changed: ChangedRows | None) -> bytes:
    """Return the entry of a commit."""
    rows = ChangedRows() if changed is None else changed
    return _encode(msgspec.structs.replace(rows, commit=commit))


def read_entry(packed: bytes) -> ChangedRows:
    """Return an entry as it was packed."""
    return _decode(packed)


def merge(entries: Sequence[ChangedRows]) -> ChangedRows:
    """Return what was changed in any of them."""
    return ChangedRows(
        urls=sorted({url for entry in entries for url in entry.urls}),
        hosts=sorted({host for entry in entries for host in entry.hosts}),
        pages=sorted({page for entry in entries for page in entry.pages}),
        domains=sorted({domain for entry in entries for domain in entry.domains}),
    )
