"""The notes of a crawl: what its parts keep in the store under names of their own, as JSON."""

from typing import Final, TypeVar

import msgspec

from gossamer.errors import CrawlError

OPTIONS_NOTE: Final = "options"
"""The note that holds the options of a crawl; a crawl that has none has not begun."""
RESTS_NOTE: Final = "rests_until"
"""The note of until when no host is asked, because a server may have forgotten who asks them."""

T = TypeVar("T")


def read_note(note: bytes | None, kind: type[T], what: str) -> T | None:
    """Return what a note says; None: there is none. A damaged one is a `CrawlError`.

    `what` begins its sentence: "the origin of the crawl is".
    """
    if note is None:
        return None
    try:
        return msgspec.json.decode(note, type=kind)
    except msgspec.MsgspecError as error:
        raise CrawlError(f"{what} damaged: {error}") from error
