"""The checks of pages and results: bodies and saved files are what was fetched."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import xxhash

from gossamer.config import CrawlOptions
from gossamer.download.body import CodingError
from gossamer.modules.page_directory import FOLDER, page_number, saved_folders
from gossamer.stores.bodies.content import read_content
from gossamer.views.verify_progress import Check, Facts, read_rules

_RULES = read_rules("""
-- numbers: the pages are numbered 1, 2, 3 … without gaps, except for pages in progress
    SELECT 'page ' || (id + 1) || ' is missing'
    FROM (SELECT 0 AS id UNION ALL SELECT id FROM pages) AS one
    WHERE id < (SELECT max(id) FROM pages) AND id + 1 NOT IN (SELECT id FROM pages)
      AND (:over OR (SELECT max(id) - count(*) FROM pages)
                    > (SELECT count(*) FROM urls WHERE state < 4))
-- fetched: a URL has one page exactly if it was ever fetched, and each refers to the other
    -- What was fetched stays if a later visit fails, or is still to come.
    SELECT one.url FROM urls AS one LEFT JOIN pages ON pages.id = page
    WHERE page IS NULL AND state = 4 AND outcome = 'fetched'
       OR page IS NOT NULL AND pages.url IS NOT one.id
       OR page IS NOT NULL AND (state <> 4 OR outcome <> 'fetched') AND one.id NOT IN revisited
    UNION ALL
    SELECT 'page ' || pages.id FROM pages LEFT JOIN urls AS one ON one.id = pages.url
    WHERE one.page IS NOT pages.id
-- visits: every visit of a page is counted, and every page was visited
    SELECT :visits || ' visits counted, ' || total || ' recorded'
    FROM (SELECT count(*) AS total FROM attempts WHERE outcome = 'fetched')
    WHERE :visits <> total
    UNION ALL
    SELECT 'page ' || id FROM pages WHERE NOT EXISTS (
        SELECT 1 FROM attempts WHERE attempts.url = pages.url AND outcome = 'fetched'
    )
-- results: every visit of a page is in the log of results once, and nothing that was not settled
    -- Who follows the log tells its results apart by their URLs and times.
    SELECT urls.url || ' has ' || kept || ' visits, and ' || logged || ' results' FROM (
        SELECT url, sum(kept) AS kept, sum(logged) AS logged FROM (
            SELECT url, count(*) AS kept, 0 AS logged FROM attempts
            WHERE outcome = 'fetched' GROUP BY url
            UNION ALL SELECT url, 0, count(*) FROM results WHERE page IS NOT NULL GROUP BY url
        ) GROUP BY url
    ) AS visited LEFT JOIN urls ON urls.id = visited.url WHERE kept <> logged
    UNION ALL
    SELECT 'result ' || number || ' of page ' || page FROM results
    WHERE page IS NOT NULL AND page IS NOT (SELECT page FROM urls WHERE urls.id = results.url)
    UNION ALL
    SELECT 'result ' || number FROM results WHERE NOT EXISTS (
        SELECT 1 FROM attempts WHERE attempts.url = results.url AND at <= settled_at
    )
    UNION ALL
    SELECT 'row of result ' || number FROM result_rows
    WHERE number NOT IN (SELECT number FROM results)
-- reported: the modules know the depth of every page, or will when the crawl continues
    -- A crawl that was killed at its very end has that left to do.
    SELECT 'page ' || pages.id || ' at depth ' || depth FROM pages JOIN urls ON page = pages.id
    WHERE reported_depth < depth OR :over AND :closed AND reported_depth <> depth
-- duplicates: no content is kept twice, unless its time was over or a page is visited again
    -- A page is compared when it has been parsed, a little after it was fetched.
    SELECT 'pages ' || before || ' and ' || id FROM (
        SELECT id, fetched_at,
               lag(id) OVER same AS before, lag(fetched_at) OVER same AS before_at
        FROM pages WHERE url NOT IN revisited
        WINDOW same AS (PARTITION BY digest ORDER BY fetched_at, id)
    )
    WHERE NOT :keep_duplicates AND fetched_at - before_at < :keep_s - min(60, :keep_s / 2)
      AND before_at > :expired_before
-- original: only duplicates name a page, which exists, and only similar ones their similarity
    -- While a crawl runs, that page may be in progress; after a crash it may be visited again.
    SELECT url || ' repeats page ' || coalesce(duplicate_of, '(none)')
    FROM urls
    WHERE state = 4 AND (outcome IN ('duplicate', 'similar')) <> (duplicate_of IS NOT NULL)
       OR state = 4 AND (outcome = 'similar') <> (similarity IS NOT NULL)
       OR (similarity IS NULL) <> (own_similarity IS NULL)
       OR :closed AND duplicate_of IS NOT NULL AND duplicate_of NOT IN (SELECT id FROM pages)
-- sketches: a page has a sketch no longer than its content
    SELECT 'sketch of page ' || sketches.page FROM sketches
    LEFT JOIN contents ON contents.page = sketches.page
    WHERE contents.fetched_at IS NOT sketches.fetched_at
-- contents: the content of every page is stored until its time is over, and no other
    SELECT 'page ' || pages.id
    FROM pages LEFT JOIN contents ON contents.page = pages.id
    WHERE contents.page IS NULL AND pages.fetched_at > :expired_before
       OR contents.fetched_at <> pages.fetched_at
    UNION ALL
    SELECT 'content of a page ' || page FROM contents WHERE page NOT IN (SELECT id FROM pages)
-- bytes: the bytes of the pages are counted, and so are those of what was not kept
    -- What was fetched and not kept repeats a page or is not HTML, or is an earlier version;
    -- its size is not recorded.
    SELECT :bytes || ' counted, ' || total || ' kept'
    FROM (SELECT coalesce(sum(size), 0) AS total FROM pages)
    WHERE :bytes < total OR :bytes > total
      AND NOT EXISTS (
          SELECT 1 FROM attempts WHERE outcome IN ('duplicate', 'similar', 'not_html')
      ) AND NOT EXISTS (SELECT 1 FROM revisited)
""")


class StoredPage(NamedTuple):
    """A page as stored."""

    id: int
    url: str
    depth: int
    reported_depth: int
    """The depth that was reported to the modules."""
    size: int
    digest: bytes
    is_last_version: bool
    """Whether no later version can have been shown to the modules: none was fetched since."""


_BODIES = "SELECT page, size, digest, content FROM contents JOIN pages ON pages.id = page"
_PAGES = """
    SELECT pages.id, urls.url, depth, reported_depth, size, digest,
           state = 4 AND outcome = 'fetched'
    FROM pages JOIN urls ON urls.id = pages.url ORDER BY pages.id
"""


def page_checks(
    tables: sqlite3.Connection, facts: Facts, read: Callable[[bytes], bytes]
) -> Iterator[Check]:
    """Yield the checks of what is stored; `read` follows references to bodies."""
    for rule in _RULES:
        yield from rule.check(tables, facts)
    promise = "every stored body is the one that was fetched"
    yield "bodies", promise, _spoilt_bodies(tables, read)


def _spoilt_bodies(tables: sqlite3.Connection, read: Callable[[bytes], bytes]) -> Iterator[str]:
    for page_id, size, digest, stored in tables.execute(_BODIES):
        try:
            kept = read_content(read(stored))
            body = kept.body() if kept.size == size else b""
            kept.exchange()
        except CodingError as error:
            yield f"the body of page {page_id} is damaged: {error}"
            continue
        if kept.size != size:
            yield f"the body of page {page_id} does not have its recorded size"
        elif xxhash.xxh3_128_digest(body) != digest:
            yield f"the body of page {page_id} does not match its digest"


def saved_page_checks(
    tables: sqlite3.Connection, directory: Path, options: CrawlOptions | None, *, at_rest: bool
) -> Iterator[Check]:
    """Yield a check of each directory in which pages were saved."""
    saving = saved_folders(options.module) if options is not None else []
    for folder in saving or [FOLDER]:
        if saving or (directory / folder).is_dir():
            saved = SavedPages(directory / folder, complete=bool(saving), at_rest=at_rest)
            yield "saved", "every saved file holds its page", saved.wrong(tables)


class SavedPages:
    """The numbered files of the module `save`, compared with the pages of the crawl."""

    def __init__(self, folder: Path, *, complete: bool, at_rest: bool) -> None:
        self._folder = folder
        self._complete = complete
        """Whether every page must have its file."""
        self._at_rest = at_rest
        """Whether the crawl was closed: no page is about to be kept, no depth to be corrected."""

    def wrong(self, tables: sqlite3.Connection) -> Iterator[str]:
        """Yield what is wrong with the files."""
        last = 0
        for page in map(StoredPage._make, tables.execute(_PAGES)):
            last = page.id
            yield from self._complaint(page)
        if self._at_rest and self._folder.is_dir():
            numbers = [page_number(file.name) for file in self._folder.iterdir()]
            for number in sorted(number for number in numbers if number is not None):
                if not 1 <= number <= last:
                    yield f"{self._folder / str(number)} belongs to no page"

    def _complaint(self, page: StoredPage) -> Iterator[str]:
        file = self._folder / str(page.id)
        try:
            url, depth, body = [*file.read_bytes().split(b"\n", 2), b"", b""][:3]
        except FileNotFoundError:
            if self._complete:
                yield f"{file} is missing"
            return
        except OSError as error:
            yield f"{file} cannot be read: {error.strerror}"
            return
        if url != page.url.encode():
            yield f"{file} does not name {page.url} in its first line"
        elif not page.is_last_version:
            return  # a later one was saved, and then not settled: its worker died
        elif self._at_rest and depth not in (b"%d" % page.depth, b"%d" % page.reported_depth):
            yield f"{file} does not have the depth {page.depth} in its second line"
        elif len(body) != page.size or xxhash.xxh3_128_digest(body) != page.digest:
            yield f"{file} does not hold what was fetched"
