"""The checks of a crawl: whether it keeps its promises, proved from its stored state."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from gossamer.frontier.queues import QueueTable
from gossamer.stores.embedded.sqlite.audit import SqliteAudit
from gossamer.stores.embedded.sqlite.verify_sql import Facts
from gossamer.stores.reading import CrawlCounts
from gossamer.views.crawl_tables import CrawlTables
from gossamer.views.pages import SAVED_PAGES
from gossamer.views.verify_bodies import SavedPages, spoilt_bodies
from gossamer.views.verify_depths import DepthCheck
from gossamer.views.verify_urls import UrlCheck

EXAMPLES = 5


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check: a promise, and how often it is broken."""

    rule: str
    promise: str
    broken: int
    examples: list[str]
    """The first few."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The results of all checks."""

    where: str
    """Where the crawl is: its directory, its file, or its name and store."""
    running: bool
    """Whether the crawl went on meanwhile: then a consistent snapshot of it was checked."""
    sound: bool
    """Whether every check passed."""
    complete: bool
    """Whether every check was made: a file that has lost its form cannot be read any further."""
    urls: int
    pages: int
    findings: list[Finding]


Check = tuple[str, str, Iterator[str]]
"""The name of a check, the promise that it checks, and what breaks it."""


async def verify(tables: CrawlTables, now: float) -> Verification:
    """Check the stored state of a crawl against every promise."""
    audit = SqliteAudit(tables.reader.connection)
    urls = pages = 0
    findings = [_finding("file", "the file is whole", audit.damage())]
    if complete := _passed(findings):
        findings += [_finding(rule.name, rule.promise, found) for rule, found in audit.form()]
        complete = _passed(findings)
    if complete:
        counts = await tables.reader.counts()
        urls, pages = counts.urls, counts.pages
        findings += [_finding(*check) for check in _checks(tables, audit, counts, now)]
    return Verification(
        where=tables.reader.where,
        running=tables.reader.running,
        sound=_passed(findings),
        complete=complete,
        urls=urls,
        pages=pages,
        findings=findings,
    )


def _checks(
    tables: CrawlTables, audit: SqliteAudit, counts: CrawlCounts, now: float
) -> Iterator[Check]:
    """Yield the checks for tables of the right form."""
    options, directory = tables.crawl.options, tables.reader.directory
    facts = _facts(tables, counts, now)
    for rule, found in audit.content(facts, QueueTable(facts.queues or 1).queue_of):
        yield rule.name, rule.promise, found
    url_check = UrlCheck(options.scope_of_crawl(), options.seeds) if options else UrlCheck(None, ())
    promise = "every URL is filed under its own fingerprint and host"
    yield "filing", promise, url_check.misfiled(audit.urls())
    if options:
        yield "scope", "every URL is in scope", iter(url_check.outside)
        yield (
            "seeds",
            "the seeds, and no other URLs, were found on no page",
            iter(url_check.orphans),
        )
    graph = DepthCheck(audit.nodes(), audit.url)
    promise = "no link offers a shorter path than the recorded one"
    yield "depth", promise, graph.shortcuts(audit.targets())
    yield "path", "every URL is reached from a seed at its depth", graph.broken_paths()
    promise = "every stored body is the one that was fetched"
    yield "bodies", promise, spoilt_bodies(audit.bodies())
    if tables.broken_indexes is not None:
        promise = "the queues and counters of the store agree with its records"
        yield "store", promise, iter(tables.broken_indexes)
    if directory is not None:
        folder = directory / SAVED_PAGES
        saving = options is not None and "save" in options.module
        if saving or folder.is_dir():
            saved = SavedPages(folder, complete=saving, at_rest=counts.closed)
            yield "saved", "every saved file holds its page", saved.wrong(audit.pages())


def _facts(tables: CrawlTables, counts: CrawlCounts, now: float) -> Facts:
    options = tables.crawl.options
    over = tables.crawl.ended_by(counts) not in {None, "interrupted"}
    known = Facts(now=now, closed=counts.closed, over=over)
    if options is None:
        return known
    return msgspec.structs.replace(
        known,
        ttl_s=options.ttl_s,
        max_depth=math.inf if options.depth is None else options.depth,
        queues=options.queues,
        max_pages=options.max_pages,
        max_bytes=options.max_bytes,
        keep_duplicates=None if options.similarity is msgspec.UNSET else options.similarity is None,
    )


def _finding(rule: str, promise: str, broken_by: Iterator[str]) -> Finding:
    examples = list(islice(broken_by, EXAMPLES))
    broken = len(examples) + sum(1 for _ in broken_by)
    return Finding(rule=rule, promise=promise, broken=broken, examples=examples)


def _passed(findings: Iterable[Finding]) -> bool:
    return not any(finding.broken for finding in findings)
