"""The commands that continue a crawl: `gossamer resume` and `gossamer retry`."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gossamer.cli.crawl import crawl_with
from gossamer.cli.parameters import crawl_to_read, option, parse_outcome, with_options
from gossamer.config import IN_DIRECTORY, CrawlOptions
from gossamer.coordinator.resume import (
    FIXED,
    ORIGIN_NOTE,
    CrawlToContinue,
    options_to_continue,
    read_origin,
)
from gossamer.frontier.contract import RetryRequest
from gossamer.model import Outcome
from gossamer.model.errors import UsageError
from gossamer.policy.failures import FAILED, MAY_PASS
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.registry import address_in, open_for_reading
from gossamer.stores.rows import OPTIONS_NAME
from gossamer.urls import host_key, parse_seed

UNCHANGEABLE = frozenset({*FIXED, "fresh"})

CrawlDir = Annotated[
    Path | None,
    Parameter(
        help="The directory of the crawl; by default this one, or the only crawl right below it.",
        show_default=False,
    ),
]


def options_of(
    directory: Path | None, flags: Mapping[str, object], config: Path | None
) -> CrawlOptions:
    """Return the options of the crawl that is meant, with those that were given now."""
    crawl = asyncio.run(read_crawl(request_for(directory, flags)))
    return options_to_continue(crawl, flags, os.environ, config)


def request_for(directory: Path | None, flags: Mapping[str, object]) -> ReadRequest:
    """Return which crawl is meant: the directory, or --dir, --store and --name."""
    texts = {name: str(value) for name in ("store", "name", "dir") if (value := flags.get(name))}
    if directory is not None and texts.keys() & {"store", "dir"}:
        raise UsageError(f"the crawl is named twice, by {directory} and by an option: give one")
    folder = texts.get("dir", "auto")
    chosen = directory or (None if folder == "auto" else Path(folder).expanduser())
    return crawl_to_read(chosen, store=texts.get("store"), name=texts.get("name"))


async def read_crawl(request: ReadRequest) -> CrawlToContinue:
    """Return what is stored of a crawl that is to be continued."""
    async with open_for_reading(request) as reader:
        note = await reader.metadata(OPTIONS_NAME)
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
            origin=read_origin(await reader.metadata(ORIGIN_NOTE)),
        )


@partial(with_options, unchangeable=UNCHANGEABLE)
def resume(directory: CrawlDir = None, /, *, config: Path | None = None, **flags: object) -> int:
    """Continue a crawl that was stopped, was killed or has reached a limit.

    Options and modules are stored with the crawl, so none have to be given again. Those that are
    given replace the stored ones, and are stored in turn; what defines the crawl, such as its
    scope, cannot change. Secrets are not stored: where they are needed, set GOSSAMER_STORE and
    GOSSAMER_PAGERANK_KEY again.

    Parameters
    ----------
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    return crawl_with(options_of(directory, flags, config))


@partial(with_options, unchangeable=UNCHANGEABLE)
def retry(
    directory: CrawlDir = None,
    /,
    *,
    outcome: Annotated[
        tuple[str, ...],
        option(
            "--outcome",
            "Retry URLs with this outcome, such as not_found; may be repeated. Any outcome without "
            "a page can be named; 'gossamer status' counts them.",
        ),
    ] = (),
    host: Annotated[
        tuple[str, ...], option("--host", "Only URLs of this host; may be repeated.")
    ] = (),
    config: Path | None = None,
    **flags: object,
) -> int:
    """Retry failed URLs of a crawl, and continue it as `gossamer resume` does.

    By default these are the URLs that may succeed another time: timeouts, connections and name
    lookups that failed, server errors, and what was given up. Each gets one more attempt, or more
    if --retries allows more in total. Hosts that were given up are asked again.

    Parameters
    ----------
    config
        A TOML file of options; options given here override it, and so do variables GOSSAMER_….
    """
    request = RetryRequest(
        outcomes=frozenset(map(_outcome, _split(outcome))) or MAY_PASS,
        hosts=frozenset(host_key(parse_seed(f"http://{name}/", "host")) for name in _split(host)),
    )
    return crawl_with(options_of(directory, flags, config), request)


def _split(values: Sequence[str]) -> list[str]:
    return [part.strip() for value in values for part in value.split(",")]


def _outcome(name: str) -> Outcome:
    """Return the outcome of that name; one with a page is refused."""
    outcome = parse_outcome(name, FAILED)
    if outcome not in FAILED:
        raise UsageError(
            f"what was {outcome} has not failed, and is not tried again: name an outcome without a "
            f"page, such as {Outcome.TIMED_OUT}"
        )
    return outcome
