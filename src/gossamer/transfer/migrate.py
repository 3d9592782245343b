"""Moves a crawl from one store to another, where it goes on; the one that it came from stays.

In between it is in the tables of a file, whatever the stores are: those of the source itself, or a
copy of a shared crawl (`export`).
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from gossamer.coordinator.stored_options import StoredOptions, read_options
from gossamer.errors import CrawlError, UsageError
from gossamer.frontier import SchedulerRules
from gossamer.stores.embedded.directory import is_locked, name_for
from gossamer.stores.embedded.sqlite.file import check_version
from gossamer.stores.embedded.sqlite.queries import count_pages, read_note
from gossamer.stores.embedded.sqlite.readonly import reading
from gossamer.stores.rules import StoreRules
from gossamer.urls import parse_seed

Tell = Callable[[str, int, int], None]
"""Hears what is done to how many URLs of how many."""


class Migrated(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a migration."""

    source: str
    target: str
    urls: int
    pages: int
    continue_with: list[str]
    """The command that goes on with the crawl, in words."""


class MigrationEnd(Protocol):
    """A store that a crawl can be taken from or brought to."""

    def look(self, tell: Tell) -> AbstractContextManager[sqlite3.Connection]:
        """Give the tables of its crawl; a CrawlError if a process works on it."""

    def check_free(self, *, replace: bool) -> None:
        """Refuse to be a target where there is a crawl, or one on which a process works."""

    def take_in(self, tables: sqlite3.Connection, rules: StoreRules, tell: Tell) -> None:
        """Keep the crawl of these tables; what was there is gone."""

    def continue_with(self, seeds: list[str]) -> list[str]:
        """Return the command that goes on with the crawl there."""


def migrate(
    source: MigrationEnd, target: MigrationEnd, tell: Tell, *, replace: bool = False
) -> Migrated:
    """Bring a crawl from its store to another one, and say how it goes on there."""
    target.check_free(replace=replace)
    with source.look(tell) as tables:
        options = read_options(read_note(tables, "options"), source)
        target.take_in(tables, rules_of(options, tables), tell)
        (urls,) = tables.execute("SELECT count(*) FROM urls").fetchone()
        return Migrated(
            source=str(source),
            target=str(target),
            urls=urls,
            pages=count_pages(tables),
            continue_with=target.continue_with(list(options.seeds) if options else []),
        )


def rules_of(options: StoredOptions | None, tables: sqlite3.Connection) -> StoreRules:
    """Return the rules of a crawl as far as they are known; who goes on with it lays down all."""
    known = {} if options is None else msgspec.structs.asdict(options)
    names = ("max_pages", "max_bytes", "max_page_bytes", "ttl_s")
    given = {name: known[name] for name in names if known.get(name) is not None}
    if known.get("depth") is not None:
        given["max_depth"] = known["depth"]
    if known.get("similarity", msgspec.UNSET) is not msgspec.UNSET:
        given["similarity"] = known["similarity"]
    scheduler = {} if known.get("queues") is None else {"queues": known["queues"]}
    (delay_s,) = tables.execute(
        "SELECT min(delay_s) FROM hosts WHERE requests > 0 AND crawl_delay_s IS NULL"
    ).fetchone()
    if delay_s is not None:
        scheduler["delay_s"] = delay_s
    return StoreRules(scheduler=SchedulerRules(**scheduler), **given)


def crawl_name(tables: sqlite3.Connection) -> str:
    """Return what a crawl is called that has no name: it is made from its first seed."""
    options = read_options(read_note(tables, "options"), "the crawl")
    if options is None:
        raise UsageError("which name is the crawl to have there? Give it one with --name")
    return name_for(parse_seed(options.seeds[0]))


@contextmanager
def read_file_tables(path: Path) -> Iterator[sqlite3.Connection]:
    """Give the tables of a crawl in a file; a CrawlError if a process works on it."""
    if not path.is_file():
        raise UsageError(f"there is no crawl in {path}: name its directory or its file")
    if is_locked(path.parent) or is_written(path):
        raise CrawlError(f"a process is crawling into {path.parent}: let it end first")
    with reading(path) as tables:
        check_version(tables, path)
        yield tables


def is_written(path: Path) -> bool:
    """Tell whether a process writes to the file of a crawl at this moment."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", timeout=0, uri=True)
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        return error.sqlite_errorcode & 0xFF in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
    return False
