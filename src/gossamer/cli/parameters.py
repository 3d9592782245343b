"""The options that several commands have, each declared once with its help."""

import os
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from cyclopts import (
    Argument,
    CycloptsError,
    MissingArgumentError,
    Parameter,
    UnusedCliTokensError,
)

from gossamer.config import LogFormat, StoreAddress, load
from gossamer.model import Outcome
from gossamer.model.errors import UsageError
from gossamer.stores.reading import ReadRequest


def parse_outcome(name: str, among: Collection[Outcome]) -> Outcome:
    """Return the outcome of that name, with underscores, hyphens or spaces in it.

    If there is none, the complaint names those among which to choose.
    """
    try:
        return Outcome(name.strip().lower().replace("-", "_").replace(" ", "_"))
    except ValueError as error:
        names = ", ".join(sorted(among))
        raise UsageError(f"there is no outcome {name!r}: name one of {names}") from error


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


OUTPUT = frozenset({"-o", "--output"})


def mistake(error: CycloptsError, words: Sequence[str]) -> str:
    """Return one sentence about a command line that the library could not read."""
    match error:
        case UnusedCliTokensError(unused_tokens=[*unused]):
            found = " and ".join(f"'{word}'" for word in unused)
            return f"{found} cannot be used here: leave {'it' if len(unused) == 1 else 'them'} out."
        case MissingArgumentError(keyword=str(flag)):
            return _without_value(flag, words)
        case MissingArgumentError(argument=Argument(name=name)):
            return f"{name} is missing."
        case _:
            return " ".join(str(error).split())


def _without_value(flag: str, words: Sequence[str]) -> str:
    """Return what is wrong with an option behind which the library found no value."""
    word = next((after for one, after in pairwise(words) if one == flag), "")
    if word == "-" and flag in OUTPUT:
        return f"{flag} writes to files, directories or s3://, not to standard output: name one."
    if word[:1] == "-" and word[1:2].isdigit():
        return f"{flag} cannot be negative, as {word} is."
    return f"{flag} needs a value."
