"""The stores between which a crawl can be moved: a file, and a shared store."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from gossamer.cluster import frontier_role
from gossamer.config import StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.plan.stored_options import read_options
from gossamer.stores.embedded.directory import (
    DATABASE,
    CrawlDirectory,
    find_crawl,
    is_locked,
    name_for,
)
from gossamer.stores.embedded.sqlite.file import check_version, make_tables
from gossamer.stores.embedded.sqlite.queries import read_note
from gossamer.stores.embedded.sqlite.readonly import reading
from gossamer.stores.redis import opening
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.alive import is_at_work
from gossamer.stores.redis.checks import require
from gossamer.stores.redis.crawl_client import ask_server, find_crawl_name, stored_crawl
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.open import NAME, delete_crawl
from gossamer.stores.redis.probe import check
from gossamer.stores.registry import kind_of
from gossamer.stores.rules import StoreRules
from gossamer.transfer.export import export
from gossamer.transfer.restore import restore
from gossamer.urls import parse_seed

Tell = Callable[[str, int, int], None]
"""Hears what is done to how many URLs of how many."""

FILE_ENDINGS = {".sqlite", ".sqlite3", ".db"}
"""Where nothing is yet, a path that ends so is a file; any other is a directory."""
ROLES = (frontier_role.ROLE, opening.ROLE)
STOP_THEM = "stop its 'gossamer crawl', frontiers and workers first, and let them end"


class FileEnd:
    """A crawl in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        is_usual = self._path.name == DATABASE
        return str(self._path.parent if is_usual else self._path)

    @contextmanager
    def tables(self, _tell: Tell) -> Iterator[sqlite3.Connection]:
        """Give the tables of the file; a CrawlError if a process works on it."""
        path = self._path
        if not path.is_file():
            raise UsageError(f"there is no crawl in {path}: name its directory or its file")
        if is_locked(path.parent) or _is_written(path):
            raise CrawlError(f"a process is crawling into {path.parent}: let it end first")
        with reading(path) as tables:
            check_version(tables, path)
            yield tables

    def check_free(self, *, replace: bool) -> None:
        """Refuse to be a target where there is a crawl, or one on which a process works."""
        if not self._path.exists():
            return
        if not replace:
            raise UsageError(f"there is a crawl in {self}: name another, or replace it (--replace)")
        if _is_written(self._path):
            raise CrawlError(f"another process is writing to {self._path}: let it end first")

    def take_in(self, tables: sqlite3.Connection, rules: StoreRules, tell: Tell) -> None:
        """Keep the crawl of these tables; the file is there when it is whole, and not before."""
        directory = CrawlDirectory(self._path.parent)
        part = self._path.with_name(f"{self._path.name}.part")
        with directory:
            directory.clear(part)
            try:
                _write(tables, part)
                directory.clear(self._path)
                part.replace(self._path)
            finally:
                directory.clear(part)

    def continue_with(self, seeds: list[str]) -> list[str]:
        """Return the command that goes on with the crawl there."""
        if self._path.name == DATABASE:
            return ["gossamer", "crawl", *seeds, "--dir", str(self._path.parent)]
        return ["gossamer", "crawl", *seeds, "--store", f"sqlite:{self._path}"]


def _is_written(path: Path) -> bool:
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


def _write(tables: sqlite3.Connection, path: Path) -> None:
    try:
        copy = sqlite3.connect(path, isolation_level=None)
        try:
            tables.backup(copy)
            copy.execute("PRAGMA journal_mode = WAL")
            copy.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            copy.close()
    except sqlite3.Error as error:
        raise CrawlError(f"cannot write {path}: {error}") from error


class SharedStoreEnd:
    """A crawl in a shared store."""

    def __init__(self, address: RedisAddress, crawl: str | None, *, allow_insecure: bool) -> None:
        if crawl is not None and not NAME.fullmatch(crawl):
            raise UsageError(
                f"{crawl!r} is no name for a crawl in the store: write letters, digits, '.', '_', "
                "'-'"
            )
        self._address = address
        self._crawl = crawl
        self._allow_insecure = allow_insecure
        self._replace = False

    def __str__(self) -> str:
        return f"the crawl {self._crawl} in {self._address}"

    @contextmanager
    def tables(self, tell: Tell) -> Iterator[sqlite3.Connection]:
        """Give a copy of the crawl; a CrawlError if a process works on it."""
        tables = sqlite3.connect("", isolation_level=None)

        async def copy(nodes: Nodes) -> None:
            self._crawl = crawl = await find_crawl_name(nodes, self._crawl)
            if await is_at_work(nodes, crawl, ROLES):
                raise CrawlError(f"{self} is worked on: {STOP_THEM}")
            async with stored_crawl(nodes, crawl) as (rules, client):
                copied = await export(client, rules, tables, tell=partial(tell, "read"))
            if copied.unreadable:
                raise CrawlError(f"{self} is damaged: {copied.unreadable[0]}")

        try:
            make_tables(tables)
            tables.execute("BEGIN")
            asyncio.run(ask_server(self._address, copy))
            tables.execute("COMMIT")
            yield tables
        except sqlite3.Error as error:
            raise CrawlError(f"{self} cannot be copied: {error}") from error
        finally:
            tables.close()

    def check_free(self, *, replace: bool) -> None:
        """Refuse to be a target where there is a crawl, or one on which a process works."""
        self._replace = replace
        findings = asyncio.run(check(self._address, allow_insecure=self._allow_insecure))
        require(findings, self._address)
        if self._crawl is not None:
            self._refuse_if_taken(self._crawl)

    def _refuse_if_taken(self, crawl: str) -> None:
        async def look(nodes: Nodes) -> tuple[bool, bool]:
            names = [key(crawl, name) for name in ("rules", "urls", "counts")]
            async with connect(await nodes.find(names[0])) as client:
                is_there = bool(await client.exists(*names))
            return is_there, await is_at_work(nodes, crawl, ROLES)

        is_there, at_work = asyncio.run(ask_server(self._address, look))
        if is_there and not self._replace:
            raise UsageError(
                f"there is {self}: choose another name (--name), or replace it (--replace)"
            )
        if at_work:
            raise CrawlError(f"{self} is worked on: {STOP_THEM}")

    def take_in(self, tables: sqlite3.Connection, rules: StoreRules, tell: Tell) -> None:
        """Keep the crawl of these tables; what was there is gone, also if this fails."""
        if self._crawl is None:
            options = read_options(read_note(tables, "options"), "the crawl")
            if options is None:
                raise UsageError("which name is the crawl to have there? Give it one with --name")
            self._crawl = name_for(parse_seed(options.seeds[0]))
            self._refuse_if_taken(self._crawl)
        crawl = self._crawl

        async def bring(nodes: Nodes) -> None:
            if self._replace:
                await delete_crawl(self._address, crawl)
            try:
                await restore(tables, nodes, crawl, rules, partial(tell, "written"))
            except BaseException:
                with suppress(Exception):  # what has failed first is told
                    await delete_crawl(self._address, crawl)
                raise

        asyncio.run(ask_server(self._address, bring))

    def continue_with(self, seeds: list[str]) -> list[str]:
        """Return the command that goes on with the crawl there."""
        shared = ["--store", str(self._address), "--name", str(self._crawl)]
        return ["gossamer", "crawl", *seeds, *shared]


MigrationEnd = FileEnd | SharedStoreEnd
"""A store that a crawl can be taken from or brought to."""


def migration_end(
    address: StoreAddress, crawl: str | None, *, allow_insecure: bool = False
) -> MigrationEnd:
    """Return the store at that address, as one that a crawl can be moved from or to."""
    kind = kind_of(address)
    if kind.shared:
        return SharedStoreEnd(parse_address(address.url), crawl, allow_insecure=allow_insecure)
    if not kind.in_directory:
        raise UsageError("a crawl in memory cannot be moved: it is gone with its process")
    path = find_crawl(None, Path()) if address.path is None else address.path
    is_file = path.is_file() or (not path.is_dir() and path.suffix in FILE_ENDINGS)
    return FileEnd(path if is_file else path / DATABASE)
