"""The records with which a page is claimed, compared with others and kept."""

import msgspec

THIS_PAGE = 0
"""In place of a number: the page that is being claimed, which has none yet."""


class Claim(msgspec.Struct, frozen=True):
    """The answer to the claim of a page number."""

    page_id: int | None = None
    """The number of the page; None if it may not be kept."""
    duplicate_of: int | None = None
    """The page with identical or similar content."""
    similarity: float | None = None
    """The similarity to that page, from 0 to 1; None: the content is identical."""
    own_similarity: float | None = None
    """The similarity of the own contents, if the page is similar."""
    unread: tuple[int, ...] = ()
    """Nothing is decided: the page looks similar, and these own contents are not known. They are to
    be read, and the page to be claimed again; `THIS_PAGE` stands for itself."""
    again: bool = False
    """The URL has had that number since an earlier visit."""
    lost: bool = False
    """The lease was not valid any more."""


class StoredBody(msgspec.Struct, frozen=True):
    """The body of a kept page, to be compared with another."""

    content: bytes | None = None
    """Packed (`gossamer.codings`); None: there is no such page, or its body has expired."""
    content_type: str = ""
    claimed: bool = False
    """The page is claimed and not settled: its body may be there soon."""


class KeptPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page to keep."""

    page_id: int
    """The number that it has claimed; 0 if that is still to be done."""
    size: int
    digest: bytes
    content: bytes
    """Body and exchange, packed (`gossamer.codings`)."""
    content_type: str = ""
    encoding: str = ""
    title: str = ""
    fetched_at: float
