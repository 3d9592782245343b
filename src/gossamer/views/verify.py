"""The checks of a crawl: whether it keeps its promises, proved from its stored state."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from gossamer.config import keep_seconds
from gossamer.errors import CrawlError
from gossamer.frontier.queues import QueueTable
from gossamer.modules.page_file import FOLDER, saved_folders
from gossamer.plan.seed_scope import SCOPE_NOTE
from gossamer.stores.counting import wrong_counts
from gossamer.stores.reading import CrawlCounts
from gossamer.views.audit import SqliteAudit
from gossamer.views.crawl_tables import CrawlTables
from gossamer.views.verify_bodies import SavedPages, spoilt_bodies
from gossamer.views.verify_claims import ClaimCheck, ClaimedUrl
from gossamer.views.verify_depths import DepthCheck
from gossamer.views.verify_sql import Facts
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
    visits: int
    """How often a page was fetched and kept."""
    findings: list[Finding]


Check = tuple[str, str, Iterator[str]]
"""The name of a check, the promise that it checks, and what breaks it."""


async def verify(tables: CrawlTables, now: float) -> Verification:
    """Check the stored state of a crawl against every promise."""
    audit = SqliteAudit(tables.connection)
    urls = pages = visits = 0
    findings = [_finding("file", "the file is whole", audit.damage())]
    if complete := _passed(findings):
        form = [_finding(rule.name, rule.promise, found) for rule, found in audit.form()]
        complete = _passed(form)
        findings += form
    if tables.broken_indexes is not None:
        promise = "all rows can be read, and queues and numbers of the store agree with them"
        findings.append(_finding("store", promise, iter(tables.broken_indexes)))
    counts = None
    if complete:
        try:
            counts = await tables.reader.counts()
        except CrawlError as error:
            findings.append(_finding("figures", "every figure can be read", iter([str(error)])))
            complete = False
    if counts is not None:
        urls, pages, visits = counts.urls, counts.pages, counts.visits
        seed_keys = await tables.reader.note(SCOPE_NOTE)
        findings += [_finding(*check) for check in _checks(tables, audit, counts, now, seed_keys)]
        read = (await tables.reader.bodies.segments()).read
        promise = "every stored body is the one that was fetched"
        findings.append(_finding("bodies", promise, spoilt_bodies(audit.bodies(), read)))
    return Verification(
        where=tables.reader.where,
        running=tables.reader.running,
        sound=_passed(findings),
        complete=complete,
        urls=urls,
        pages=pages,
        visits=visits,
        findings=findings,
    )


def _checks(
    tables: CrawlTables,
    audit: SqliteAudit,
    counts: CrawlCounts,
    now: float,
    seed_keys: bytes | None,
) -> Iterator[Check]:
    """Yield the checks for tables of the right form."""
    options, directory = tables.crawl.options, tables.reader.directory
    facts = _facts(tables, counts, now)
    for rule, found in audit.content(facts, QueueTable(facts.queues or 1).queue_of):
        yield rule.name, rule.promise, found
    url_check = UrlCheck(None, ())
    if options is not None:
        scope = options.scope_of_crawl(seed_keys)
        url_check = UrlCheck(scope, options.seeds, has_files=bool(options.seed_files))
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
    promise = "the stored counters are those of the URLs, pages and hosts"
    yield "counters", promise, wrong_counts(tables.reader.rows)
    claims = ClaimCheck(map(ClaimedUrl._make, audit.claims()), audit.page_numbers(), counts.urls)
    yield "claims", "pages in progress claim numbers that no other page has", claims.wrong()
    if directory is not None:
        yield from _checks_of_saved_pages(directory, tables, audit, counts)


def _checks_of_saved_pages(
    directory: Path, tables: CrawlTables, audit: SqliteAudit, counts: CrawlCounts
) -> Iterator[Check]:
    options = tables.crawl.options
    saving = saved_folders(options.module) if options is not None else []
    # A worker of a shared crawl whose coordinator was killed gives pages back that are saved.
    is_shared = tables.broken_indexes is not None
    at_rest = counts.closed and (not is_shared or _is_over(tables, counts))
    for folder in saving or [FOLDER]:
        if saving or (directory / folder).is_dir():
            saved = SavedPages(directory / folder, complete=bool(saving), at_rest=at_rest)
            yield "saved", "every saved file holds its page", saved.wrong(audit.pages())


def _is_over(tables: CrawlTables, counts: CrawlCounts) -> bool:
    return tables.crawl.ended_by(counts) not in {None, "interrupted"}


def _facts(tables: CrawlTables, counts: CrawlCounts, now: float) -> Facts:
    options = tables.crawl.options
    known = Facts(now=now, closed=counts.closed, over=_is_over(tables, counts))
    if options is None:
        return known
    # Which depth is too deep is a matter of the host then.
    has_depths = any("depth" in rule.values for rule in options.host_table.rules)
    return msgspec.structs.replace(
        known,
        revisit_s=math.inf if options.revisit_s is None else options.revisit_s,
        keep_s=keep_seconds(options.keep_s, shared=tables.broken_indexes is not None),
        max_depth=None if has_depths else math.inf if options.depth is None else options.depth,
        queues=options.queues,
        max_pages=options.max_pages,
        max_bytes=options.max_bytes,
        seed_depths=bool(options.seed_files),
        keep_duplicates=None if options.similarity is msgspec.UNSET else options.similarity is None,
        cookies=options.may_keep_cookies,
    )


def _finding(rule: str, promise: str, broken_by: Iterator[str]) -> Finding:
    examples = list(islice(broken_by, EXAMPLES))
    broken = len(examples) + sum(1 for _ in broken_by)
    return Finding(rule=rule, promise=promise, broken=broken, examples=examples)


def _passed(findings: Iterable[Finding]) -> bool:
    return not any(finding.broken for finding in findings)
