"""Moves a crawl from one store to another, where it goes on; the one that it came from stays.

In between it is in the tables of a file, whatever the stores are: those of the source itself, or a
copy of a shared crawl (`export`).
"""

import sqlite3

import msgspec

from gossamer.config import keep_seconds
from gossamer.frontier import SchedulerRules
from gossamer.plan.stored_options import StoredOptions, read_options
from gossamer.policy.received import most_received
from gossamer.stores.embedded.sqlite.queries import count_pages, read_note
from gossamer.stores.rules import StoreRules
from gossamer.transfer.ends import MigrationEnd, Tell


class Migrated(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a migration."""

    source: str
    target: str
    urls: int
    pages: int
    continue_with: str
    """The command that goes on with the crawl."""


def migrate(
    source: MigrationEnd, target: MigrationEnd, tell: Tell, *, replace: bool = False
) -> Migrated:
    """Bring a crawl from its store to another one, and say how it goes on there."""
    target.check_free(replace=replace)
    with source.tables(tell) as tables:
        options = read_options(read_note(tables, "options"), source)
        target.take_in(tables, rules_of(options, tables), tell)
        (urls,) = tables.execute("SELECT count(*) FROM urls").fetchone()
        return Migrated(
            source=str(source),
            target=str(target),
            urls=urls,
            pages=count_pages(tables),
            continue_with=target.continue_with(),
        )


def rules_of(options: StoredOptions | None, tables: sqlite3.Connection) -> StoreRules:
    """Return the rules of a crawl for a shared store, as far as they are known.

    Whoever continues it sets all of them.
    """
    known = {} if options is None else msgspec.structs.asdict(options)
    names = ("max_pages", "max_bytes", "revisit_s")
    given = {name: known[name] for name in names if known.get(name) is not None}
    if options is not None:
        given["keep_s"] = keep_seconds(options.keep_s, shared=True)
    if options is not None and options.max_body_bytes is not None:
        given["max_task_bytes"] = most_received(options.max_body_bytes)
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
