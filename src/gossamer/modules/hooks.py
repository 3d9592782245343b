"""What the hooks of modules are given and give back, beside the page itself."""

from collections.abc import Sequence

import msgspec

from gossamer.model import Cause, Outcome, Url
from gossamer.stores.results import Record


class FollowedLink(msgspec.Struct, frozen=True, gc=False):
    """A link to follow: one of the page's that is about to be followed, or one that is added."""

    url: Url
    score: float | None = None
    """0 (first) to 100 (last). If the URL is new to the crawl, it counts instead of what the
    scorer says; None: the scorer decides."""


class FinishedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """How a URL has ended, as a module sees it."""

    url: Url
    outcome: Outcome
    status: int | None = None
    """The HTTP status; None when no answer came."""
    cause: Cause | None = None
    """Why there is no page, or less than one."""
    detail: str = ""
    """The same in words, with what the server or the library said."""
    depth: int
    referrer: Url | None = None
    """The page, or the sitemap, in which it was found, on the shortest path; None: it is a seed."""
    redirected_to: Url | None = None
    """Where it redirects to, if that belongs to the crawl."""
    attempts: int = 1
    """How often it was tried."""
    page_id: int | None = None
    """The number of the page that is kept; None: none is."""


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Which hooks there are among some modules, so that nothing is done for nobody."""

    pages: bool = False
    """Whether there is anybody to show a page to."""
    links: bool = False
    """Whether anybody chooses which links are followed."""
    ends: bool = False
    """Whether there is anybody to tell how URLs end."""
    depths: bool = False
    """Whether there is anybody to tell of shorter paths."""

    def __or__(self, other: "Hooks") -> "Hooks":
        """Return which hooks there are among both."""
        names = self.__struct_fields__
        return Hooks(**{name: getattr(self, name) or getattr(other, name) for name in names})


class Delivered(msgspec.Struct, frozen=True):
    """What modules have made of a page, or of how a URL has ended."""

    records: Sequence[Record] = ()
    links: Sequence[FollowedLink] | None = None
    """Which links to follow; None: nobody has chosen."""
    refused: bool = False
    """Whether records are missing, because a module gave something that is not a record."""

    @property
    def given(self) -> Sequence[Record] | None:
        """The records; None if no module gave anything, not even what was refused."""
        return self.records if self.records or self.refused else None

    def __add__(self, other: "Delivered") -> "Delivered":
        """Return what both have made; if both have chosen links, those of the other count."""
        links = self.links if other.links is None else other.links
        records = [*self.records, *other.records]
        return Delivered(records, links, self.refused or other.refused)
