"""The contract of a module: user code that sees each page and has side effects only.

A module is a function that takes a `Page`, or an object with any of the methods below, each of
them plain or `async`:

    prepare(context)               once for a run of the crawl, before any worker starts
    open(context)                  before the first page; an error here ends the crawl at once
    page(page)                     for every page that was fetched and found worth keeping
    depth_changed(page_id, depth)  a shorter path to a page that was delivered before was found
    close()                        after the last page, also when the crawl was interrupted

**In which process.** A module that was named (on the command line, in a file of options) runs in
the workers: each of their processes has an instance of its own, which sees the pages of that
worker. So it costs the crawl nothing but its own time, and what it breaks is one worker. Side
effects that several processes may have at a time, such as a file for each page, need no more than
that. A module that must see all pages in one place says `in_coordinator = True`: it has one
instance, in the process that coordinates the crawl, and pages travel to it, one message each.
Functions and objects that were given in Python are always called in the process that gave them.
Either way a page is settled only when its modules are done with it. `prepare` is for what must
happen once, before any worker opens its instance: it is called in the coordinator's process on an
instance that sees no pages. Workers that join a shared crawl from elsewhere (`gossamer worker`)
have the modules of the coordinator in a process beside them.

**On which thread.** A module of plain functions has a thread of its own: all its calls are made
there, one after another, in the order of delivery. So it needs no locks, may wait for a disk or a
network, and may keep things that belong to one thread (a sqlite3 connection). A module with an
`async` method runs on the event loop of its process, where its calls for several pages may overlap.
A quick module that never waits may ask to be called on the event loop without a thread in between:
`on_loop = True`. Code there that blocks holds up its worker, or the whole crawl.

**How often.** Each page at least once. After a crash a page that was delivered and not yet settled
is delivered again, and its id may by then have gone to another page. So a module that must not
count or write twice drops at the start what it has under an id that is not settled for good
(`ModuleContext.is_settled`), and lets the last page of an id replace the one before. The hook
`depth_changed` can be repeated in the same way, and where workers find several shorter paths at a
time, the smallest depth counts, whichever comes last.

**What can go wrong.** Whatever a module raises is contained, named and counted; the crawl goes on.
The exception is `gossamer.CrawlError`, by which a module ends the crawl on purpose (`save` does it
when the disk is full): the page is not settled and comes again when the crawl is continued.
A call that exceeds the time limit is not waited for: an async one is cancelled, a plain one is
left alone in its thread, and until it returns the module misses the pages that come.

What a worker cannot contain costs the worker: code that crashes the process, that runs out of
memory (a worker may take 2 GB more than it had when its modules were open), or that lets no other
thread run, such as a regular expression with exponential backtracking. The worker is replaced, its
pages are tried again, and a page that crashed three workers is given up. In the coordinator's
process nothing contains such code.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.model import Page


class ModuleContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a module is told when it opens."""

    directory: Path
    """The directory of the crawl; results go below it."""
    crawl: str
    """The name of the crawl."""
    worker: int
    """The number of the worker; 0 in the coordinator's process."""
    options: Mapping[str, str] = {}
    resumed_from: int = 0
    """The largest id that is settled for good and does not come again; 0 at a fresh start."""
    gaps: frozenset[int] = frozenset()
    """The smaller ids that are not settled: a crash came in between."""
    shared: bool = False
    """Whether other processes work on the crawl too, perhaps in the same directory: then nothing
    there is left over, and which pages are settled is not known."""

    @property
    def settled(self) -> int:
        """How many pages are settled for good."""
        return self.resumed_from - len(self.gaps)

    def is_settled(self, page_id: int) -> bool:
        """Tell whether the page of that id is settled for good; any other may come again."""
        return page_id <= self.resumed_from and page_id not in self.gaps


class Prepares(Protocol):
    """A module that has something to do once, before all workers."""

    def prepare(self, context: ModuleContext, /) -> object:
        """Make ready for the workers; whatever is raised ends the crawl before it starts."""


class Opens(Protocol):
    """A module that prepares itself."""

    def open(self, context: ModuleContext, /) -> object:
        """Prepare; whatever is raised ends the crawl before it starts."""


class TakesPages(Protocol):
    """A module that sees pages."""

    def page(self, page: Page, /) -> object:
        """Do something with a page."""


class FollowsDepth(Protocol):
    """A module that keeps the depth of pages."""

    def depth_changed(self, page_id: int, depth: int, /) -> object:
        """Learn that a page delivered before is nearer to a seed than was known then."""


class Closes(Protocol):
    """A module that has something to finish."""

    def close(self) -> object:
        """Finish; called once, if `open` succeeded."""


PageFunction = Callable[[Page], object]
ModuleLike = PageFunction | Prepares | Opens | TakesPages | FollowsDepth | Closes
"""What can be given as a module, or a class of it that is made without arguments."""


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A module's calls, checked, and where they are to be made."""

    name: str
    """As the user gave it."""
    prepare: Callable[[ModuleContext], object] | None = None
    open: Callable[[ModuleContext], object] | None = None
    page: PageFunction | None = None
    depth_changed: Callable[[int, int], object] | None = None
    close: Callable[[], object] | None = None
    on_loop: bool = False
    """Whether it is called on the event loop instead of in a thread of its own."""
    in_coordinator: bool = False
    """Whether it sees all pages in one place instead of running in every worker."""
    file: str | None = None
    """The source file, to find the user's own line in a traceback."""
