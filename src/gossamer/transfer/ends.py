"""The stores between which a crawl can be moved: a file, and a shared store."""

import asyncio
import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from gossamer.cluster import frontier_role
from gossamer.config import OWN_REDIS, StoreAddress
from gossamer.errors import CrawlError, UsageError
from gossamer.plan.commands import store_command
from gossamer.plan.starts import own_name
from gossamer.plan.stored_options import read_options
from gossamer.stores.embedded.directory import (
    DATABASE,
    CrawlDirectory,
    find_crawl,
    is_locked,
)
from gossamer.stores.embedded.sqlite.file import (
    APPLICATION_ID,
    check_own,
    check_version,
    is_written,
    make_tables,
)
from gossamer.stores.embedded.sqlite.queries import read_note
from gossamer.stores.embedded.sqlite.readonly import reading
from gossamer.stores.own_redis.folder import is_own_redis
from gossamer.stores.own_redis.opening import reachable_server
from gossamer.stores.ownership import IDENTITY_NOTE, CrawlOwner
from gossamer.stores.redis import opening
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.alive import is_at_work
from gossamer.stores.redis.checks import require
from gossamer.stores.redis.crawl_client import ask_server, find_crawl_name, stored_crawl
from gossamer.stores.redis.keys import key
from gossamer.stores.redis.nodes import Nodes, connect
from gossamer.stores.redis.open import check_name, delete_crawl
from gossamer.stores.redis.probe import check
from gossamer.stores.registry import kind_of
from gossamer.stores.rules import StoreRules
from gossamer.transfer.export import export
from gossamer.transfer.restore import restore

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
        if is_locked(path.parent) or is_written(path):
            raise CrawlError(f"a process is crawling into {path.parent}: let it end first")
        with reading(path) as tables:
            check_version(tables, path)
            yield tables

    def check_free(self, *, replace: bool) -> None:
        """Refuse to be a target where there is a crawl, or one on which a process works."""
        if not self._path.exists():
            return
        check_own(self._path)
        if not replace:
            raise UsageError(f"there is a crawl in {self}: name another, or replace it (--replace)")
        if is_written(self._path):
            raise CrawlError(f"another process is writing to {self._path}: let it end first")

    def take_in(self, tables: sqlite3.Connection, rules: StoreRules, tell: Tell) -> None:
        """Keep the crawl of these tables; the file is there when it is whole, and not before."""
        directory = CrawlDirectory(self._path.parent)
        part = self._path.with_name(f"{self._path.name}.part")
        with directory:
            if (identity := read_note(tables, IDENTITY_NOTE)) is not None:
                directory.check_owner(CrawlOwner(identity.decode(), str(self)))
            directory.clear(part)
            try:
                _write(tables, part)
                directory.clear(self._path)
                part.replace(self._path)
            finally:
                directory.clear(part)

    def continue_with(self) -> str:
        """Return the command that goes on with the crawl there."""
        if self._path.name == DATABASE:
            return shlex.join(["gossamer", "resume", str(self._path.parent)])
        return store_command(StoreAddress("sqlite", self._path), None, os.environ, "resume")


def _write(tables: sqlite3.Connection, path: Path) -> None:
    try:
        copy = sqlite3.connect(path, isolation_level=None)
        try:
            # First of all: what is left of a copy that was killed is known for ours by it.
            copy.execute(f"PRAGMA application_id = {APPLICATION_ID}")
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
        if crawl is not None:
            check_name(crawl)
        self._address = address
        self._crawl = crawl
        self._allow_insecure = allow_insecure
        self._replace = False

    def __str__(self) -> str:
        return f"the crawl {self._crawl} in {self._address}"

    @contextmanager
    def tables(self, tell: Tell, *, is_idle: bool = False) -> Iterator[sqlite3.Connection]:
        """Give a copy of the crawl; a CrawlError if a process works on it, unless none can."""
        tables = sqlite3.connect("", isolation_level=None)

        async def copy(nodes: Nodes) -> None:
            self._crawl = crawl = await find_crawl_name(nodes, self._crawl)
            if not is_idle and await is_at_work(nodes, crawl, ROLES):
                raise CrawlError(f"{self} is worked on: {STOP_THEM}")
            async with stored_crawl(nodes, crawl) as (rules, client):
                copied = await export(client, rules, tables, tell=partial(tell, "read"))
            if copied.unreadable:
                raise CrawlError(f"{self} is damaged: {copied.unreadable[0]}")
            if copied.counts["unadded"]:
                raise CrawlError(
                    f"{self} was interrupted while links of a page were added: continue it for a "
                    "moment first"
                )

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
                raise UsageError("the crawl needs a name there: give it one with --name")
            self._crawl = own_name(options)
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

    def continue_with(self) -> str:
        """Return the command that goes on with the crawl there."""
        store = StoreAddress("redis", url=self._address.url())
        more = ["--insecure-store"] if self._allow_insecure else []
        return store_command(store, self._crawl, os.environ, "resume", *more)


class OwnRedisEnd:
    """A crawl that has a Redis of its own, which is started to copy it from there."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def __str__(self) -> str:
        return str(self._directory or "redis:")

    @contextmanager
    def tables(self, tell: Tell) -> Iterator[sqlite3.Connection]:
        """Give a copy of the crawl; a CrawlError if a process works on it."""
        self._directory = directory = find_crawl(self._directory, Path())
        if not is_own_redis(directory):
            raise UsageError(f"there is no crawl with a Redis of its own in {self}")
        if is_locked(directory):
            raise CrawlError(f"a process is crawling into {self}: let it end first")
        with asyncio.Runner() as runner:
            server = reachable_server(directory)
            address, _ = runner.run(server.__aenter__())
            try:
                shared = SharedStoreEnd(address, None, allow_insecure=False)
                with shared.tables(tell, is_idle=True) as tables:
                    yield tables
            finally:
                runner.run(server.__aexit__(None, None, None))

    def check_free(self, *, replace: bool) -> None:
        """Refuse to be a target: the server of a crawl belongs to the command that crawls."""
        raise UsageError(
            "a crawl cannot be moved into a Redis of its own: name a file, or a running server "
            "(redis://HOST)"
        )

    def take_in(self, tables: sqlite3.Connection, rules: StoreRules, tell: Tell) -> None:
        """Do nothing: it never comes to that."""

    def continue_with(self) -> str:
        """Return the command that goes on with the crawl there."""
        return shlex.join(["gossamer", "resume", str(self)])


MigrationEnd = FileEnd | SharedStoreEnd | OwnRedisEnd
"""A store that a crawl can be taken from or brought to."""


def migration_end(
    address: StoreAddress, crawl: str | None, *, allow_insecure: bool = False
) -> MigrationEnd:
    """Return the store at that address, as one that a crawl can be moved from or to."""
    kind = kind_of(address)
    if address == OWN_REDIS or (address.path is not None and is_own_redis(address.path)):
        return OwnRedisEnd(address.path)
    if kind.shared:
        return SharedStoreEnd(parse_address(address.url), crawl, allow_insecure=allow_insecure)
    if not kind.in_directory:
        raise UsageError("a crawl in memory cannot be moved: it is gone with its process")
    path = find_crawl(None, Path()) if address.path is None else address.path
    is_file = path.is_file() or (not path.is_dir() and path.suffix in FILE_ENDINGS)
    return FileEnd(path if is_file else path / DATABASE)
