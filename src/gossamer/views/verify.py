"""The checks of a crawl: whether it keeps its promises, proved from its stored state.

They go by the tables of a crawl: those of its file, or a copy of a crawl in a shared store. A copy
is a consistent snapshot, also while others work on the crawl, and nobody waits for it. It is in a
temporary database, and takes time in proportion to the number of URLs.
"""

import math
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain, islice

import msgspec

from gossamer.config import HostTable, keep_seconds
from gossamer.coordinator.plan import SCOPE_NOTE, may_keep_cookies
from gossamer.coordinator.resume import read_options
from gossamer.model.errors import CrawlError
from gossamer.stores.crawl_views import CrawlCounts, ReadRequest
from gossamer.stores.reader import CrawlReader
from gossamer.stores.rows import OPTIONS_NAME
from gossamer.stores.sqlite.file import read_metadata
from gossamer.stores.sqlite.rows import SqliteReader
from gossamer.views.crawls import StoredCrawl, fields_of, open_crawl
from gossamer.views.verify_pages import page_checks, progress_checks, saved_page_checks
from gossamer.views.verify_rules import Check, Facts, form_rules
from gossamer.views.verify_urls import depth_checks, url_checks

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


class CrawlTables(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl whose tables can be read with SQL."""

    crawl: StoredCrawl
    reader: SqliteReader
    wrong_rows: Sequence[str] | None = None
    """The rows of a shared store that cannot be read, or with which its indexes do not agree; None:
    the crawl is not in a shared store."""


async def verify(request: ReadRequest, now: float) -> Verification:
    """Check the stored state of a crawl against every promise."""
    async with _open_tables(request) as tables:
        findings = _check_form(tables)
        complete, counts, connection = _passed(findings), None, tables.reader.connection
        if tables.wrong_rows is not None:
            promise = "all rows can be read, and queues and numbers of the store agree with them"
            findings.append(_finding("store", promise, iter(tables.wrong_rows)))
        if complete:
            try:
                counts = await tables.reader.counts()
            except CrawlError as error:
                findings.append(_finding("figures", "every figure can be read", iter([str(error)])))
                complete = False
        if counts is not None:
            facts = await _facts(tables, counts, now)
            seed_keys = await tables.reader.metadata(SCOPE_NOTE)
            read = (await tables.reader.bodies.segments()).read
            checks = chain(
                url_checks(connection, facts, tables.crawl.options, seed_keys),
                page_checks(connection, facts, read),
                progress_checks(connection, tables.reader.rows, facts),
                depth_checks(connection),
                _saved_page_checks(tables, facts),
            )
            findings += [_finding(*check) for check in checks]
        return Verification(
            where=tables.reader.where,
            running=tables.reader.running,
            sound=_passed(findings),
            complete=complete,
            **{name: getattr(counts, name, 0) for name in ("urls", "pages", "visits")},
            findings=findings,
        )


@asynccontextmanager
async def _open_tables(request: ReadRequest) -> AsyncIterator[CrawlTables]:
    """Open the tables of a crawl; a crawl in a shared store is copied first."""
    async with open_crawl(request) as crawl:
        reader = crawl.reader
        if isinstance(reader, SqliteReader):
            yield CrawlTables(crawl=crawl, reader=reader)
            return
        # Imported when it is needed: the Redis client takes a while to load.
        from gossamer.stores.redis.row_reads import ReadableRedisRows  # noqa: PLC0415
        from gossamer.views.redis_copy import copy_crawl  # noqa: PLC0415

        assert isinstance(reader, CrawlReader), "all crawls are read over their rows"
        assert isinstance(reader.rows, ReadableRedisRows), "no other kind of store is shared"
        with copy_crawl(reader.rows.address, reader.rows.crawl) as copy:
            closed = read_metadata(copy.connection, "closed") == b"yes"
            running = copy.is_led and not closed
            tables = SqliteReader(
                copy.connection, copy.where, reader.directory, running=running, closed=closed
            )
            copied = StoredCrawl(
                tables, read_options(await tables.metadata(OPTIONS_NAME), copy.where)
            )
            yield CrawlTables(crawl=copied, reader=tables, wrong_rows=copy.wrong)


def _check_form(tables: CrawlTables) -> list[Finding]:
    """Return the findings without which nothing else can be checked."""
    connection = tables.reader.connection
    damage = (str(text) for (text,) in connection.execute("PRAGMA integrity_check"))
    findings = [_finding("file", "the file is whole", (text for text in damage if text != "ok"))]
    if _passed(findings):
        for rule in form_rules():
            findings += [_finding(*check) for check in rule.check(connection)]
    return findings


def _saved_page_checks(tables: CrawlTables, facts: Facts) -> Iterator[Check]:
    directory, is_shared = tables.reader.directory, tables.wrong_rows is not None
    if directory is not None:
        # A worker of a shared crawl whose coordinator was killed gives pages back that are saved.
        at_rest = facts.closed and (not is_shared or facts.over)
        yield from saved_page_checks(
            tables.reader.connection, directory, tables.crawl.options, at_rest=at_rest
        )


async def _facts(tables: CrawlTables, counts: CrawlCounts, now: float) -> Facts:
    reader, options = tables.reader, tables.crawl.options
    starts, expired = await reader.metadata("starts"), await reader.metadata("expired_before")
    known = Facts(
        now=now,
        closed=counts.closed,
        over=tables.crawl.ended_by(counts) not in {None, "interrupted"},
        **fields_of(counts, ("visits", "bytes", "received")),
        starts=int(starts) if starts and starts.isdigit() else 0,
        expired_before=float(expired or "-inf"),
    )
    if options is None:
        return known
    # Which depth is too deep is a matter of the host then.
    has_depths = any("depth" in rule.values for rule in HostTable.of(options.host).rules)
    return msgspec.structs.replace(
        known,
        revisit_s=_or_infinite(options.revisit_s),
        keep_s=keep_seconds(options.keep_s, shared=tables.wrong_rows is not None),
        max_depth=None if has_depths else _or_infinite(options.depth),
        **fields_of(options, ("queues", "max_pages", "max_bytes")),
        seed_depths=bool(options.seed_files),
        keep_duplicates=options.similarity is None,
        cookies=may_keep_cookies(options),
    )


def _or_infinite(limit: float | None) -> float:
    return math.inf if limit is None else limit


def _finding(rule: str, promise: str, broken_by: Iterator[str]) -> Finding:
    examples = list(islice(broken_by, EXAMPLES))
    broken = len(examples) + sum(1 for _ in broken_by)
    return Finding(rule=rule, promise=promise, broken=broken, examples=examples)


def _passed(findings: Iterable[Finding]) -> bool:
    return not any(finding.broken for finding in findings)
