"""`gossamer migrate`: copies a crawl to another store."""

import re
import sys
import time
from typing import Annotated

from gossamer.cli.output import put_lines
from gossamer.cli.parameters import Insecure, option
from gossamer.config import StoreAddress, load
from gossamer.observe import printable
from gossamer.observe.figures import count, counted
from gossamer.transfer.ends import migration_end
from gossamer.transfer.migrate import migrate as migrated

SCHEME = re.compile(r"[a-z+]+:")
SHOW_EVERY_S = 1.0


def migrate(
    source: str,
    target: str,
    /,
    *,
    crawl: Annotated[
        str | None,
        option(
            "--name",
            "The name of the crawl in a shared store; by default the only one there, or for a new "
            "one a name made from its seed.",
        ),
    ] = None,
    replace: Annotated[
        bool, option("--replace", "Replace the crawl that the target already has.")
    ] = False,
    insecure_store: Insecure = False,
) -> int:
    """Copy a crawl from one store to another, where it can continue; the source is not changed.

    Stop the crawl first. A store is redis://HOST, or sqlite:PATH or just PATH for the directory or
    the file of a crawl. A crawl can be copied out of a Redis of its own, not into one.

    Parameters
    ----------
    source
        The store with the crawl.
    target
        The store to copy it to.
    """
    ends = [
        migration_end(_address(one), crawl, allow_insecure=insecure_store)
        for one in (source, target)
    ]
    progress = MigrationProgress()
    found = migrated(ends[0], ends[1], progress.show, replace=replace)
    what = f"{counted(found.urls, 'URL')} and {counted(found.pages, 'page')}"
    put_lines(
        [
            f"copied {printable(found.source, 500)} to {printable(found.target, 500)}: {what}",
            f"continue with: {found.continue_with}",
            "the results of modules are not copied: gossamer replay makes them again",
        ]
    )
    return 0


class MigrationProgress:
    """The progress of a migration, shown on a terminal."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + SHOW_EVERY_S

    def show(self, what: str, done: int, total: int) -> None:
        """Show how many URLs are read or written, from time to time."""
        now = time.monotonic()
        if now >= self._next_at and sys.stderr.isatty():
            self._next_at = now + SHOW_EVERY_S
            print(f"{count(done)} of {counted(total, 'URL')} {what}", file=sys.stderr)


def _address(text: str) -> StoreAddress:
    """Return the address of a store; a path alone is that of a crawl."""
    named = text if SCHEME.match(text) else f"sqlite:{text}"
    return load({"store": named}, {}).options.store
