"""The options that several commands have, each declared once with its help."""

import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.config import LogFormat, StoreAddress, load
from gossamer.stores.reading import ReadRequest


def option(name: str | list[str], words: str) -> Parameter:
    """Return an option: a switch, or one with a value, which is repeated to give several."""
    return Parameter(name=name, help=words, negative="", show_default=False)


# Commands that read a crawl
Directory = Annotated[
    Path | None,
    option(
        "--dir",
        "The directory of the crawl; by default this one, or the only crawl right below it.",
    ),
]
StoreUrl = Annotated[
    str | None,
    option(
        "--store",
        "The store of the crawl, if it is not in a directory: redis://HOST or sqlite:PATH.",
    ),
]
CrawlName = Annotated[
    str | None,
    option("--name", "The name of the crawl in a shared store; by default the only one there."),
]
Json = Annotated[bool, option("--json", "Print one JSON object.")]
LogFormatChoice = Annotated[
    LogFormat, option("--log-format", "Report as text for people, or as json for programs.")
]
Quiet = Annotated[bool, option(["--quiet", "-q"], "Show errors only.")]
JsonLines = Annotated[bool, option("--json", "Print one JSON object per line.")]

# Commands that take part in a shared crawl
SharedStoreUrl = Annotated[
    str | None,
    option(
        "--store",
        "The store of the crawl: redis://HOST; prefer the variable GOSSAMER_STORE for passwords, "
        "since other users of the machine can see the command line.",
    ),
]
Insecure = Annotated[
    bool,
    option("--insecure-store", "Accept a store on another machine without a password or TLS."),
]


def crawl_to_read(directory: Path | None, store: str | None, name: str | None) -> ReadRequest:
    """Return which crawl is meant: in a directory, in a file or in a shared store.

    A directory that is given alone takes precedence over the variable GOSSAMER_STORE.
    """
    if directory is not None and store is None and name is None:
        return ReadRequest(address=StoreAddress("sqlite"), directory=directory)
    options = load({"store": store, "name": name}, os.environ).options
    return ReadRequest(address=options.store, name=options.name, directory=directory)
