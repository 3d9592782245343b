"""What the commands that read a crawl have in common."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.config import StoreAddress, load
from gossamer.stores.reading import ReadRequest

Directory = Annotated[Path | None, Parameter(name="--dir", show_default=False)]
"""Where the crawl is; by default in the current directory, or the only one right below it."""

StoreUrl = Annotated[str | None, Parameter(name="--store", show_default=False)]
CrawlName = Annotated[str | None, Parameter(name="--name", show_default=False)]

Json = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]


def crawl_to_read(directory: Path | None, store: str | None, name: str | None) -> ReadRequest:
    """Return which crawl is meant: in a directory, in a file or in a shared store.

    A directory that is given alone takes precedence over the variable GOSSAMER_STORE.
    """
    if directory is not None and store is None and name is None:
        return ReadRequest(address=StoreAddress("sqlite"), directory=directory)
    options = load({"store": store, "name": name}, os.environ).options
    return ReadRequest(address=options.store, name=options.name, directory=directory)
