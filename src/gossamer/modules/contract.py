"""The contract of a module: user code that sees each page, and extracts records from it.

A module is a function that takes a `Page`, or an object with any of these methods, plain or
`async`. Each may fail without harm to the crawl; [modules.md](modules.md) tells the rest.

    open(context)                  before the first page; an error here ends the crawl at once
    page(page)                     for every page that was fetched; what it gives is records
    links(page, links)             which links of that page are to be followed
    finished(result)               how a URL has ended; what it gives is records, too
    depth_changed(page_id, depth)  when the crawl ends: the final depth of a page, if it is smaller
    close()                        after the last page, also when the crawl was interrupted
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.model import Cause, Outcome, Page, Url
from gossamer.stores.files import CrawlOwner, ResultDirectory
from gossamer.stores.url_record import Record


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
    found_on: Url | None = None
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
    """Whether there is anybody to tell of final depths."""

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


class ModuleContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a module is told when it opens."""

    directory: Path
    """The directory of the crawl; results go below it."""
    crawl: str
    """The name of the crawl."""
    identity: str = ""
    """What tells the crawl from all others, also after it has started over."""
    worker: int
    """The number of the worker, and of one that replaces it; 0 in the coordinator's process."""
    options: Mapping[str, str] = {}
    """Those of the module, as they were written after its name, with underscores in their names."""
    resumed_from: int = 0
    """The largest id that is settled for good and does not come again; 0 at a fresh start."""
    gaps: frozenset[int] = frozenset()
    """The smaller ids that are not settled: a crash came in between."""
    shared: bool = False
    """Whether other processes work on the crawl too, perhaps in the same directory: then nothing
    there is left over, and which pages are settled is not known."""
    replay: bool = False
    """Whether kept pages are shown once more (`gossamer replay`). What the module has of them is
    not left over: it may be replaced, but a page whose body has expired does not come again."""

    def claim_folder(self, name: str) -> Path:
        """Return a folder of the crawl's directory for results of this crawl alone.

        It is made if it is not there. UsageError if it holds anything that the crawl did not write.
        """
        return self._results.claim_folder(name)

    def claim_file(self, name: str) -> Path:
        """Return the path of a file in the crawl's directory that the module may write or replace.

        UsageError if there is one that this crawl did not write.
        """
        return self._results.claim_file(name)

    @property
    def _results(self) -> ResultDirectory:
        return ResultDirectory(self.directory, CrawlOwner(self.identity, self.crawl))

    @property
    def settled(self) -> int:
        """How many pages are settled for good."""
        return self.resumed_from - len(self.gaps)

    def is_settled(self, page_id: int) -> bool:
        """Tell whether the page of that id is settled for good; any other may come again."""
        return page_id <= self.resumed_from and page_id not in self.gaps


class Opens(Protocol):
    """A module that prepares itself."""

    def open(self, context: ModuleContext, /) -> object:
        """Prepare; whatever is raised ends the crawl before it starts."""


class TakesPages(Protocol):
    """A module that sees pages."""

    def page(self, page: Page, /) -> object:
        """Do something with a page."""


class ChoosesLinks(Protocol):
    """A module that says which links of a page are followed."""

    def links(self, page: Page, links: Sequence[FollowedLink], /) -> object:
        """Return or yield the links to follow: some of those given, or others."""


class SeesEnds(Protocol):
    """A module that is told how URLs end."""

    def finished(self, result: FinishedUrl, /) -> object:
        """Do something with how a URL has ended."""


class FollowsDepth(Protocol):
    """A module that keeps the depth of pages."""

    def depth_changed(self, page_id: int, depth: int, /) -> object:
        """Learn the final depth of a page that was delivered with a larger one."""


class Closes(Protocol):
    """A module that has something to finish."""

    def close(self) -> object:
        """Finish; called once, if `open` succeeded."""


PageFunction = Callable[[Page], object]
ModuleLike = PageFunction | Opens | TakesPages | ChoosesLinks | SeesEnds | FollowsDepth | Closes
"""What can be given as a module, or a class of it that is made without arguments."""


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A module's calls, checked, and where they are to be made."""

    name: str
    """As the user gave it, with its options."""
    options: Mapping[str, str] = {}
    prepare: Callable[[ModuleContext], object] | None = None
    """Not public: once for a run of the crawl, before any worker starts, on an instance that sees
    no pages."""
    open: Callable[[ModuleContext], object] | None = None
    page: PageFunction | None = None
    links: Callable[[Page, Sequence[FollowedLink]], object] | None = None
    finished: Callable[[FinishedUrl], object] | None = None
    depth_changed: Callable[[int, int], object] | None = None
    close: Callable[[], object] | None = None
    conclude: Callable[[ModuleContext], object] | None = None
    """Not public: as `prepare`, when all workers have ended."""
    on_loop: bool = False
    """Whether it is called on the event loop instead of in a thread of its own."""
    in_coordinator: bool = False
    """Whether it sees all pages in one place instead of running in every worker."""
    may_pause: bool = False
    """Whether it may take any time for a page: the reader of `gossamer.pages` is a module too."""
    extracts: bool = False
    """Whether it surely extracts records, if there are any: it is written as a generator."""
    file: str | None = None
    """The source file, to find the user's own line in a traceback."""


def hooks_of(modules: Sequence[Module]) -> Hooks:
    """Return which hooks there are among modules."""
    return Hooks(
        pages=any(module.page or module.links for module in modules),
        links=any(module.links for module in modules),
        ends=any(module.finished for module in modules),
        depths=any(module.depth_changed for module in modules),
    )
