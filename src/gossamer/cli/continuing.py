"""The crawl that a command continues: where it is, and its options."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.cli.parameters import crawl_to_read
from gossamer.config import IN_DIRECTORY, CrawlOptions
from gossamer.errors import UsageError
from gossamer.plan.continuing import CrawlToContinue, options_to_continue
from gossamer.plan.origin import ORIGIN_NOTE, read_origin
from gossamer.plan.plan import FIXED
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.stores.reading import ReadRequest
from gossamer.stores.registry import address_in, open_for_reading

UNCHANGEABLE = frozenset({*FIXED, "fresh"})

CrawlDir = Annotated[
    Path | None,
    Parameter(
        help="The directory of the crawl; by default this one, or the only crawl right below it.",
        show_default=False,
    ),
]


def options_of(
    directory: Path | None, given: Mapping[str, object], config: Path | None
) -> CrawlOptions:
    """Return the options of the crawl that is meant, with those that were given now."""
    crawl = asyncio.run(read_crawl(request_for(directory, given)))
    return options_to_continue(crawl, given, os.environ, config)


def request_for(directory: Path | None, given: Mapping[str, object]) -> ReadRequest:
    """Return which crawl is meant: the directory, or --dir, --store and --name."""
    if directory is not None and str(directory).startswith(("http:", "https:")):
        raise UsageError("this command takes the directory of a crawl, not a seed: leave it out")
    store, name, flag = (_text(given, one) for one in ("store", "name", "dir"))
    if directory is not None and (store, flag) != (None, None):
        raise UsageError(f"the crawl is named twice, by {directory} and by an option: give one")
    chosen = directory or (None if flag in {None, "auto"} else Path(flag or "").expanduser())
    return crawl_to_read(chosen, store, name)


def _text(given: Mapping[str, object], name: str) -> str | None:
    value = given.get(name)
    return None if value is None else str(value)


async def read_crawl(request: ReadRequest) -> CrawlToContinue:
    """Return what is stored of a crawl that is to be continued."""
    async with open_for_reading(request) as reader:
        note = await reader.note(OPTIONS_NOTE)
        if note is None:
            raise UsageError(f"{reader.where} has not begun: start it with 'gossamer crawl'")
        address, directory = request.address, reader.directory
        if address == IN_DIRECTORY and directory is not None:
            address = address_in(directory)
        return CrawlToContinue(
            address=address,
            name=reader.name,
            directory=directory,
            options=note,
            origin=read_origin(await reader.note(ORIGIN_NOTE)),
        )
