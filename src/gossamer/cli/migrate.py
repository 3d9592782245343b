"""`gossamer migrate`: a crawl moves to another store."""

import re
import shlex
import sys
import time
from typing import Annotated

from cyclopts import Parameter

from gossamer.cli.output import put_lines
from gossamer.cli.parameters import CrawlName
from gossamer.config import StoreAddress, load
from gossamer.observe import printable
from gossamer.observe.figures import count, counted
from gossamer.transfer.ends import migration_end
from gossamer.transfer.migrate import migrate as migrated

Replace = Annotated[bool, Parameter(name="--replace", negative="", show_default=False)]
Insecure = Annotated[bool, Parameter(name="--insecure-store", negative="", show_default=False)]

SCHEME = re.compile(r"[a-z]+:")
SHOW_EVERY_S = 1.0


def migrate(
    source: str,
    target: str,
    /,
    *,
    crawl: CrawlName = None,
    replace: Replace = False,
    insecure_store: Insecure = False,
) -> int:
    """Bring a crawl from one store to another, where it goes on; the source stays as it is.

    Nobody may be working on it. A store is written redis://HOST, or sqlite:PATH or only PATH for a
    directory or a file of a crawl.

    Parameters
    ----------
    source
        The store that has the crawl.
    target
        The store that is to have it.
    crawl
        The name of the crawl in a shared store; by default the only one there, or for a new one
        that which its seed gives.
    replace
        Delete the crawl that the target has already.
    insecure_store
        Accept a foreign store without a password or TLS.

    """
    ends = [
        migration_end(_address(one), crawl, allow_insecure=insecure_store)
        for one in (source, target)
    ]
    progress = MigrationProgress()
    found = migrated(ends[0], ends[1], progress.tell, replace=replace)
    what = f"{counted(found.urls, 'URL')} and {counted(found.pages, 'page')}"
    put_lines(
        [
            f"{printable(found.source, 500)} is also in {printable(found.target, 500)}: {what}",
            f"continue with: {shlex.join(found.continue_with)}",
            "and with the other options that it was begun with; results of modules stay where they "
            "are",
        ]
    )
    return 0


class MigrationProgress:
    """Says on a terminal how far long work is."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + SHOW_EVERY_S

    def tell(self, what: str, done: int, total: int) -> None:
        """Note that so many URLs of all are read or written."""
        now = time.monotonic()
        if now >= self._next_at and sys.stderr.isatty():
            self._next_at = now + SHOW_EVERY_S
            print(f"{count(done)} of {counted(total, 'URL')} {what}", file=sys.stderr)


def _address(text: str) -> StoreAddress:
    """Return the store that is meant; a path alone is that of a crawl."""
    named = text if SCHEME.match(text) else f"sqlite:{text}"
    return load({"store": named}, {}).options.store
