"""The classic crawl: one visitor, one connection, nearest pages first, every page a file."""

from collections import Counter
from collections.abc import Callable

import msgspec

from gossamer.control.advice import why_no_page
from gossamer.errors import CrawlError
from gossamer.frontier import BreadthFirst, Task
from gossamer.model import Event, EventKind, Outcome, Url
from gossamer.modules import PageDirectory
from gossamer.urls import Scope, merge_slashes
from gossamer.worker import Visit, Visitor

MAX_REDIRECTS = 10
"""The longest chain of redirects that is followed; browsers stop at 20, RFC 2068 spoke of 5."""

Watch = Callable[[Event], None]


class ClassicPlan(msgspec.Struct, frozen=True):
    """What to crawl."""

    seed: Url
    prefix: Url
    """Only URLs that begin with it are internal."""
    max_depth: int


class ClassicCrawl:
    """Visits every internal page within the depth and saves each once.

    `run` may be cancelled at any moment: pages are saved between two awaits, so every file is whole
    and the counters tell how far it got.
    """

    def __init__(
        self, plan: ClassicPlan, visitor: Visitor, pages: PageDirectory, watch: Watch
    ) -> None:
        self._plan = plan
        self._scope = Scope.for_prefix(plan.prefix)
        self._visitor = visitor
        self._pages = pages
        self._watch = watch
        self._frontier = BreadthFirst(plan.seed)
        self.outcomes: Counter[Outcome] = Counter()
        """How the URLs visited so far ended."""

    @property
    def waiting(self) -> int:
        """How many URLs are known and not yet visited."""
        return self._frontier.waiting

    async def run(self) -> None:
        """Crawl to the end; CrawlError if the seed yields no page or a file cannot be written."""
        visit = None
        while task := self._frontier.next():
            visit = await self._visitor.visit(task.url)
            self.outcomes[visit.outcome] += 1
            if visit.outcome is Outcome.REDIRECTED:
                visit = self._redirect(task, visit)
            elif visit.page is None:
                self._tell(EventKind.UNFETCHED, task, task.url, visit.outcome, visit.detail)
            else:
                self._keep(task, visit)
        # Every later URL was found on a saved page: no page at all means that the seed had none.
        if visit is not None and self._pages.count == 0:
            raise CrawlError(why_no_page(self._plan.seed, visit))

    def _keep(self, task: Task, visit: Visit) -> None:
        """Save a page and, above the depth limit, take its links."""
        self._tell(EventKind.FETCHED, task, task.url)
        self._pages.save(task.url, task.depth, visit.body)
        self._tell(EventKind.SAVED, task, task.url)
        if task.depth >= self._plan.max_depth:
            return
        self._tell(EventKind.SCANNING, task, task.url)
        if not visit.follow:
            self._tell(EventKind.NO_FOLLOW, task, task.url)
            return
        for link in visit.links:
            self._tell(EventKind.FOUND, task, link.url or link.href)
            self._add(task, link.url, link.href)

    def _add(self, task: Task, found: Url | None, text: str) -> None:
        """Add one link, unless it leaves the site or is known."""
        url = merge_slashes(found) if found else None
        if url is None or not self._scope.judge(url):
            self._tell(EventKind.OUTSIDE, task, url or text)
        elif self._frontier.add_link(url, task):
            self._tell(EventKind.ADDED, task, url)
        else:
            self._tell(EventKind.ALREADY_KNOWN, task, url)

    def _redirect(self, task: Task, visit: Visit) -> Visit:
        """Take a redirect as a way to another page of the same depth."""
        assert visit.target is not None
        target = merge_slashes(visit.target)
        self._tell(EventKind.UNFETCHED, task, task.url, Outcome.REDIRECTED, f"to {target}")
        if not (verdict := self._scope.judge(target)):
            self._tell(EventKind.OUTSIDE, task, target)
            return visit.ending_as(Outcome.OUT_OF_SCOPE, verdict.explain(target))
        if task.hops >= MAX_REDIRECTS:
            self._tell(EventKind.UNFETCHED, task, target, Outcome.BAD_REDIRECT)
            return visit.ending_as(Outcome.BAD_REDIRECT, f"more than {MAX_REDIRECTS} redirects")
        if not self._frontier.add_redirect(target, task):
            self._tell(EventKind.ALREADY_KNOWN, task, target)
            return visit.ending_as(Outcome.BAD_REDIRECT, "the redirects go round in a circle")
        self._tell(EventKind.ADDED, task, target)
        return visit

    def _tell(
        self,
        kind: EventKind,
        task: Task,
        url: str,
        outcome: Outcome | None = None,
        detail: str = "",
    ) -> None:
        self._watch(Event(kind, task.depth, url, outcome, detail))
