"""What the commands that look at a crawl have in common."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.config import load
from gossamer.coordinator.directory import find_crawl
from gossamer.errors import UsageError
from gossamer.views.stored_crawl import StoredCrawl, View, open_crawl

Directory = Annotated[Path | None, Parameter(name="--dir", show_default=False)]
"""Where the crawl is; by default in the current directory, or the only one right below it."""

StoreUrl = Annotated[str | None, Parameter(name="--store", show_default=False)]
CrawlName = Annotated[str | None, Parameter(name="--name", show_default=False)]

Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]

OUTLINE = View()
"""What most questions are about."""


@contextmanager
def the_crawl(
    directory: Path | None,
    store: str | None = None,
    crawl: str | None = None,
    view: View = OUTLINE,
) -> Iterator[StoredCrawl]:
    """Open the crawl that is meant: in a directory, in a file or in a shared store.

    A directory that is named alone goes before the variable GOSSAMER_STORE. The view says how much
    of a shared crawl is wanted.
    """
    if directory is not None and store is None and crawl is None:
        with open_crawl(directory) as found:
            yield found
        return
    options = load({"store": store, "name": crawl}, os.environ).options
    address = options.store
    match address.scheme:
        case "redis":
            # Imported where it is needed: the library takes a while.
            from gossamer.views.shared_view import open_shared_crawl  # noqa: PLC0415

            with open_shared_crawl(address.url, options.name, view, directory) as found:
                yield found
        case "sqlite" if address.path is not None:
            with open_crawl(directory or address.path.parent, address.path) as found:
                yield found
        case "sqlite":
            with open_crawl(find_crawl(directory, Path())) as found:
                yield found
        case _:
            raise UsageError("a crawl in memory is gone when its process has ended")
