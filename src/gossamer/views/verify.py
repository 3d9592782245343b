"""Whether a crawl keeps its promises, proved from its stored state."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from gossamer.frontier.queues import QueueTable
from gossamer.stores.embedded.sqlite.audit import SqliteAudit
from gossamer.stores.embedded.sqlite.verify_sql import Facts
from gossamer.views.stored_crawl import SAVED_PAGES, StoredCrawl
from gossamer.views.verify_bodies import SavedPages, spoilt_bodies
from gossamer.views.verify_depths import DepthCheck
from gossamer.views.verify_urls import UrlCheck

EXAMPLES = 5


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A promise, and how often it is broken."""

    rule: str
    promise: str
    broken: int
    examples: list[str]
    """The first breaches."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What came of looking at everything."""

    directory: str
    running: bool
    """Whether the crawl went on meanwhile: this is how it was at one moment."""
    sound: bool
    """Whether no promise is broken."""
    complete: bool
    """Whether all of them were looked at: what has lost its form cannot be read any further."""
    urls: int
    pages: int
    findings: list[Finding]


Check = tuple[str, str, Iterator[str]]
"""The name of a rule, its promise, and what breaks it."""


def verify(crawl: StoredCrawl, now: float) -> Verification:
    """LeaseGuard the stored state of a crawl against every rule."""
    audit = SqliteAudit(crawl.connection)
    urls = pages = 0
    findings = [_finding("file", "the file is whole", audit.damage())]
    if complete := _kept(findings):
        findings += [_finding(rule.name, rule.promise, found) for rule, found in audit.form()]
        complete = _kept(findings)
    if complete:
        urls = sum(one.urls for one in crawl.reader.state_counts())
        pages = crawl.reader.page_count()
        findings += [_finding(*check) for check in _checks(crawl, audit, now)]
    return Verification(
        directory=crawl.name,
        running=crawl.running,
        sound=_kept(findings),
        complete=complete,
        urls=urls,
        pages=pages,
        findings=findings,
    )


def _checks(crawl: StoredCrawl, audit: SqliteAudit, now: float) -> Iterator[Check]:
    """Yield the rules that a file of the right form must keep."""
    options = crawl.options
    facts = _facts(crawl, now)
    for rule, found in audit.content(facts, QueueTable(facts.queues or 1).queue_of):
        yield rule.name, rule.promise, found
    url_check = UrlCheck(options.scope_of_crawl(), options.seeds) if options else UrlCheck(None, ())
    promise = "every URL is filed under its own fingerprint and host"
    yield "url_check", promise, url_check.misfiled(audit.urls())
    if options:
        yield "scope", "every URL is in scope", url_check.outside()
        yield "seeds", "the seeds, and only they, were found nowhere", url_check.orphans()
    graph = DepthCheck(audit.nodes(), audit.url)
    promise = "no link offers a shorter path than that written down"
    yield "depth", promise, graph.shortcuts(audit.targets())
    yield "path", "every URL is reached from a seed at its depth", graph.broken_paths()
    promise = "every stored body is the one that was fetched"
    yield "bodies", promise, spoilt_bodies(audit.bodies())
    if crawl.broken_indexes is not None:
        promise = "the queues and counters of the store agree with what is written down"
        yield "store", promise, iter(crawl.broken_indexes)
    if crawl.results is not None:
        folder = crawl.results / SAVED_PAGES
        saving = options is not None and "save" in options.module
        if saving or folder.is_dir():
            saved = SavedPages(folder, complete=saving, at_rest=crawl.closed)
            yield "saved", "every saved file is of its page", saved.wrong(audit.pages())


def _facts(crawl: StoredCrawl, now: float) -> Facts:
    options = crawl.options
    over = crawl.ended_by(crawl.reader.unfinished()) not in {None, "interrupted"}
    if options is None:
        return Facts(now=now, closed=crawl.closed, over=over)
    return Facts(
        now=now,
        closed=crawl.closed,
        over=over,
        ttl_s=options.ttl_s,
        max_depth=math.inf if options.depth is None else options.depth,
        queues=options.queues,
        max_pages=options.max_pages,
        max_bytes=options.max_bytes,
        keep_duplicates=None if options.similarity is msgspec.UNSET else options.similarity is None,
    )


def _finding(rule: str, promise: str, breaches: Iterator[str]) -> Finding:
    examples = list(islice(breaches, EXAMPLES))
    broken = len(examples) + sum(1 for _ in breaches)
    return Finding(rule=rule, promise=promise, broken=broken, examples=examples)


def _kept(findings: Iterable[Finding]) -> bool:
    return not any(finding.broken for finding in findings)
