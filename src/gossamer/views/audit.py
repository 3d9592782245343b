"""The reader of the file of a crawl for `gossamer verify`."""

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gossamer.stores.reasons import Reason
from gossamer.views.verify_form_sql import FORM
from gossamer.views.verify_progress_sql import NOTED, PROGRESS, STARTED
from gossamer.views.verify_sql import (
    CONTENT,
    COUNTED,
    REVISITED,
    Facts,
    VerifyRule,
)


class FiledUrl(NamedTuple):
    """A URL with its keys."""

    url: str
    key: bytes
    host: str
    domain: str
    is_seed: bool
    depth: int
    is_sitemap: bool


class Node(NamedTuple):
    """A URL in the graph of links."""

    id: int
    depth: int
    parent: int | None
    redirect: bool
    """Whether its only link is a redirect."""
    revisited: bool
    """Whether links of an earlier visit may be forgotten."""
    relaxing: bool
    """Whether it has come nearer and what it links to not yet."""


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


class SqliteAudit:
    """A reader of what the checks need, over a connection from `reading`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def damage(self) -> Iterator[str]:
        """Yield what SQLite itself finds wrong in the file."""
        return (found for found in self._texts("PRAGMA integrity_check", {}) if found != "ok")

    def form(self) -> Iterator[tuple[VerifyRule, Iterator[str]]]:
        """Yield the rules of form, each with its violations."""
        return ((rule, self._texts(rule.query, {})) for rule in FORM)

    def content(
        self, facts: Facts, queue_of: Callable[[float], int]
    ) -> Iterator[tuple[VerifyRule, Iterator[str]]]:
        """Yield the other rules, each with its violations; the form must be valid."""
        known = msgspec.structs.asdict(facts)

        def queue_or_none(score: float | None) -> int | None:
            return None if score is None else queue_of(score)

        def reason_of(outcome: str, cause: str | None, status: int | None) -> str:
            return str(Reason.of(outcome, cause, status))

        def number_of(value: bytes | str | None) -> float | None:
            try:
                return None if value is None else float(value)
            except ValueError:
                return None

        self._db.create_function("number_of", 1, number_of, deterministic=True)
        self._db.create_function("queue_of", 1, queue_or_none, deterministic=True)
        self._db.create_function("reason_of", 3, reason_of, deterministic=True)
        for view in (COUNTED, NOTED, STARTED):
            self._db.execute(view)
        self._db.execute(REVISITED, known)
        self._db.execute("CREATE UNIQUE INDEX temp.revisited_urls ON revisited (url)")
        for rule in (*CONTENT, *PROGRESS):
            if all(known[name] is not None for name in rule.needs):
                yield rule, self._texts(rule.query, known)

    def urls(self) -> Iterator[FiledUrl]:
        """Yield every URL whose host exists."""
        return map(
            FiledUrl._make,
            self._db.execute(
                "SELECT urls.url, urls.key, hosts.key, domain, parent IS NULL, depth, "
                "sitemap_of IS NOT NULL FROM urls JOIN hosts ON hosts.id = urls.host "
                "LEFT JOIN listings ON listings.url = urls.id ORDER BY urls.id"
            ),
        )

    def nodes(self) -> Iterator[Node]:
        """Yield every URL in the order of the ids 1, 2, 3 …; to be called after `content`."""
        return map(
            Node._make,
            self._db.execute(
                "SELECT id, depth, parent, redirect, id IN revisited, "
                "id IN (SELECT url FROM relaxing) FROM urls ORDER BY id"
            ),
        )

    def targets(self) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield every finished URL with the ids of the URLs that it links to."""
        for url_id, blob in self._db.execute(
            "SELECT id, targets FROM urls WHERE state = 4 AND targets IS NOT NULL ORDER BY id"
        ):
            found = array("q")
            found.frombytes(blob)
            yield url_id, found

    def url(self, url_id: int) -> str:
        """Return a URL for a message about it."""
        found = self._db.execute("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()
        return str(found[0]) if found else f"URL {url_id}, which does not exist"

    def pages(self) -> Iterator[StoredPage]:
        """Yield every page whose URL exists."""
        return map(
            StoredPage._make,
            self._db.execute(
                "SELECT pages.id, urls.url, depth, reported_depth, size, digest, "
                "state = 4 AND outcome = 'fetched' "
                "FROM pages JOIN urls ON urls.id = pages.url ORDER BY pages.id"
            ),
        )

    def claims(self) -> Iterator[tuple[int, str, int | None, bytes]]:
        """Yield id, URL, page and claim of every URL in progress that has claimed anything."""
        return self._db.execute(
            "SELECT urls.id, urls.url, page, claim FROM leases JOIN urls ON urls.id = leases.url "
            "WHERE claim IS NOT NULL ORDER BY urls.id"
        )

    def page_numbers(self) -> Iterator[int]:
        """Yield the numbers of all pages."""
        return (number for (number,) in self._db.execute("SELECT id FROM pages"))

    def bodies(self) -> Iterator[tuple[int, int, bytes, bytes]]:
        """Yield number, size, digest and packed content of every page that has one."""
        return self._db.execute(
            "SELECT page, size, digest, content FROM contents JOIN pages ON pages.id = page"
        )

    def _texts(self, query: str, known: Mapping[str, object]) -> Iterator[str]:
        for (found,) in self._db.execute(query, known):
            yield str(found)
