"""The contract of a module: user code that sees each page, and extracts records from it.

A module is a function that takes a `Page`, or an object with any of the methods below, each of
them plain or `async`:

    prepare(context)               once for a run of the crawl, before any worker starts
    open(context)                  before the first page; an error here ends the crawl at once
    page(page)                     for every page that was fetched and found worth keeping
    links(page, links)             which links of that page are to be followed
    finished(result)               how a URL has ended, whether there is a page or not
    depth_changed(page_id, depth)  a shorter path to a page that was delivered before was found
    close()                        after the last page, also when the crawl was interrupted
    conclude(context)              once for a run of the crawl, when all workers have ended

**Records.** Whatever `page` returns or yields is stored as records: a mapping, a dataclass, a
msgspec struct or a pydantic model, or any iterable of these, also an async generator; None means no
record. They are stored as JSON objects in the same step that settles the page, so each is there
exactly once: whatever is killed, whoever loses a lease, however many workers there are. A page
gives at most 10,000 records and 8 MB of them. If one is not a record, or cannot be written as JSON,
the records of its page are dropped, and nothing else; a generator that fails in the middle leaves
none. `finished` may give records as well.

**Links.** `links` gets the page and the links that are about to be followed: in scope, each once,
as `FollowedLink`. It returns or yields those to follow, some of them or others: a URL as a string,
also a relative one, or a `FollowedLink` with a score from 0 (first) to 100 (last). What it adds is
put into normal form, and scope and robots.txt apply to it as to every link. A score replaces the
scorer's for a URL that was not known before; one that is known keeps its own. With several modules,
each chooses among what the one before has left. If a hook returns None, or fails, its links stay as
they are. A page that repeats another is not shown to modules, and they do not choose among its
links.

**Ends.** `finished` is told how every URL ended that was worked on (`FinishedUrl`), just before
that is settled: once it is certain that it is not retried, and, if it is a page, after `page`. It
is not told of a URL that was given up because it crashed three workers.

**In which process.** A module that was named (on the command line, in a file of options) runs in
the workers: each worker process has an instance of its own, which sees the pages of that worker. So
it costs the crawl nothing but its own time, and what it breaks is one worker. Side effects that
several processes may have at a time, such as a file for each page, need no more than that. A module
that must see all pages in one place sets `in_coordinator = True`: it has one instance, in the
process that coordinates the crawl, and pages travel to it, one message each.
Functions and objects that were given in Python are always called in the process that gave them.
Either way a page is settled only when its modules are done with it. `prepare` is for what must
happen once, before any worker opens its instance, and `conclude` for what must happen once, when
all are closed: they are called in the coordinator's process on an instance that sees no pages.
Workers that join a shared crawl from elsewhere (`gossamer worker`)
have the modules of the coordinator in a process beside them.

**On which thread.** A module of plain functions has a thread of its own: all its calls are made
there, one after another, in the order of delivery. So it needs no locks, may wait for a disk or a
network, and may keep things that belong to one thread (a sqlite3 connection). A module with an
`async` method runs on the event loop of its process, where its calls for several pages may overlap.
A quick module that never waits may ask to be called on the event loop without a thread in between:
`on_loop = True`. Code there that blocks holds up its worker, or the whole crawl.

**Options.** What follows a module's name after a colon, `--module ./mine.py:Mine:words=a,limit=3`,
is in `context.options`, as strings. A module with an attribute `known_options`, a tuple of names,
is never given others: a misspelt option is refused before the crawl starts. Options are stored with
the crawl and shown in its summary, so they are no place for a password; a module takes that from
the environment of its process.

**Files.** A module that writes asks for its place in the crawl's directory: `context.claim_file`
and `context.claim_folder` refuse what this crawl did not write, so that nobody's files are lost.

**How often.** Records are there exactly once. Side effects happen at least once, as each page is
shown and each end told at least once. After a crash a page that was delivered and not yet settled
is delivered again, and its id may by then have gone to another page. So a module that must not
count or write twice drops at the start what it has under an id that is not settled for good
(`ModuleContext.is_settled`), and lets the last page of an id replace the one before. The hook
`depth_changed` can be repeated in the same way, and where workers find several shorter paths at a
time, the smallest depth counts, whichever comes last. With `--revisit` a page is delivered at each
visit, under its id and with `again` set, and its records of each visit stay. A URL that is retried
after it had ended ends again, and gives its records again: by `gossamer retry`, or because it
repeated a page that was lost in a crash. `gossamer replay` shows kept pages to a module that was
not there, in the order of their ids and in one process (`ModuleContext.replay`); the records of
each page are stored once for a replay, and nothing is followed.

**What can go wrong.** Whatever a module raises is contained, named and counted; the crawl goes on
without the records, or the choice of links, of that call. The exception is `gossamer.CrawlError`,
by which a module ends the crawl on purpose (`save` does it when the disk is full): the page is not
settled and comes again when the crawl is continued. A call that exceeds the time limit is not
waited for: an async one is cancelled, a plain one is left alone in its thread, and until it returns
the module misses the pages that come.

What a worker cannot contain costs the worker: code that crashes the process, that runs out of
memory (a worker may take 2 GB more than it had when its modules were open), or that lets no other
thread run, such as a regular expression with exponential backtracking. The worker is replaced, its
pages are retried, and a page that crashed three workers is given up. In the coordinator's
process nothing contains such code.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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


class Prepares(Protocol):
    """A module with something to do once, before any worker starts."""

    def prepare(self, context: ModuleContext, /) -> object:
        """Make ready for the workers; whatever is raised ends the crawl before it starts."""


class Concludes(Protocol):
    """A module with something to do once, when all workers have ended."""

    def conclude(self, context: ModuleContext, /) -> object:
        """Finish what the workers have made; the context tells which pages are settled by now."""


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
        """Learn that a page delivered before is nearer to a seed than was known then."""


class Closes(Protocol):
    """A module that has something to finish."""

    def close(self) -> object:
        """Finish; called once, if `open` succeeded."""


PageFunction = Callable[[Page], object]
ModuleLike = PageFunction | (
    Prepares | Opens | TakesPages | ChoosesLinks | SeesEnds | FollowsDepth | Closes | Concludes
)
"""What can be given as a module, or a class of it that is made without arguments."""


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A module's calls, checked, and where they are to be made."""

    name: str
    """As the user gave it, with its options."""
    options: Mapping[str, str] = {}
    prepare: Callable[[ModuleContext], object] | None = None
    open: Callable[[ModuleContext], object] | None = None
    page: PageFunction | None = None
    links: Callable[[Page, Sequence[FollowedLink]], object] | None = None
    finished: Callable[[FinishedUrl], object] | None = None
    depth_changed: Callable[[int, int], object] | None = None
    close: Callable[[], object] | None = None
    conclude: Callable[[ModuleContext], object] | None = None
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

    @property
    def hooks(self) -> Hooks:
        """Which of the hooks it has."""
        return Hooks(
            pages=self.page is not None or self.links is not None,
            links=self.links is not None,
            ends=self.finished is not None,
            depths=self.depth_changed is not None,
        )


def hooks_of(modules: Iterable[Module]) -> Hooks:
    """Return which hooks there are among modules."""
    found = Hooks()
    for module in modules:
        found |= module.hooks
    return found
