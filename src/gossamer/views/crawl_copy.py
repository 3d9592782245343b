"""A copy of a crawl in Redis, in the tables of a temporary database."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.crawls import linked_to_crawl
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.views.copied_tables import CopiedTables
from gossamer.views.redis_indexes import IndexCheck
from gossamer.views.redis_snapshot import RowSnapshot


class CrawlCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a crawl, as it was after one commit."""

    connection: sqlite3.Connection
    where: str
    is_led: bool
    """Whether a process had the lead of the crawl at that moment."""
    broken_indexes: list[str]
    """Where the queues and numbers of the store do not agree with its rows."""


@contextmanager
def copy_crawl(address: RedisAddress, crawl: str) -> Iterator[CrawlCopy]:
    """Copy a crawl that is there; the copy is gone in the end."""
    keys = RowKeys(crawl)
    where = keys.describe(address)
    with linked_to_crawl(address, crawl) as link:
        connection = sqlite3.connect("", isolation_level=None)
        try:
            tables = CopiedTables(connection)
            snapshot = RowSnapshot(link, keys, tables, where)
            moment = snapshot.copy()
            indexes = IndexCheck(link, keys, connection, moment)
            broken = [*chain(snapshot.damage.found.values(), tables.misfits, indexes.complaints())]
            yield CrawlCopy(
                connection=connection,
                where=where,
                is_led=moment.is_led,
                broken_indexes=broken,
            )
        except sqlite3.Error as error:
            raise CrawlError(f"cannot copy {where}: {error}") from error
        finally:
            connection.close()
