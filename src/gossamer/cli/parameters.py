"""What the commands that look at a crawl have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.control.stored_crawl import StoredCrawl, find_crawl, open_crawl

Directory = Annotated[Path | None, Parameter(name="--dir", show_default=False)]
"""Where the crawl is; by default in the current directory, or the only one right below it."""

Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]


@contextmanager
def the_crawl(directory: Path | None) -> Iterator[StoredCrawl]:
    """Open the crawl that is meant."""
    with open_crawl(find_crawl(directory, Path())) as crawl:
        yield crawl
