"""`gossamer crawls`: the crawls of a store or a directory, and how to get rid of one."""

import asyncio
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from gossamer.cli.output import columns, put_json, put_lines
from gossamer.cli.parameters import JsonLines, option
from gossamer.config import StoreAddress, load
from gossamer.display import printable
from gossamer.display.formatting import count, moment, size
from gossamer.model.errors import UsageError
from gossamer.views.crawls import CrawlEntry, crawls_below, crawls_in

EXIT_KEPT = 1
STATES = {"interrupted": "stopped", "crashed": "killed", "outdated": "older version"}


def crawls(
    *,
    directory: Annotated[
        Path | None,
        option("--dir", "List the crawls in this directory and right below; by default this one."),
    ] = None,
    store: Annotated[
        str | None, option("--store", "List the crawls of a shared store: redis://HOST.")
    ] = None,
    delete: Annotated[
        str | None, option("--delete", "Delete the crawl of this name from a shared store.")
    ] = None,
    yes: Annotated[bool, option("--yes", "Delete without asking.")] = False,
    json: JsonLines = False,
) -> int:
    """List the crawls of a shared store or of a directory, or delete one from a shared store."""
    address = load({"store": store}, {} if directory else os.environ).options.store
    if delete is not None:
        return _delete(address, delete, yes=yes)
    if address.is_server:
        found, where = asyncio.run(crawls_in(address)), str(address)
    else:
        here = directory or Path()
        if not here.is_dir():
            raise UsageError(f"there is no directory {here}")
        found, where = asyncio.run(crawls_below(here)), str(here.resolve())
    if json:
        put_json(found)
    elif found:
        put_lines(_table(found))
    else:
        put_lines([f"no crawls in {printable(where, 500)}"])
    return 0


def _table(crawls: Sequence[CrawlEntry]) -> Iterator[str]:
    is_shared = crawls[0].disk is None
    rows = [["crawl", "state", "URLs", "pages", "memory" if is_shared else "disk", "last request"]]
    for one in crawls:
        taken = one.memory if is_shared else one.disk
        rows.append(
            [
                printable(one.name, 200),
                STATES.get(one.state, one.state),
                count(one.urls),
                count(one.pages),
                "-" if taken is None else size(taken),
                _remark(one),
            ]
        )
    yield from columns(rows, right=[2, 3, 4])


def _remark(crawl: CrawlEntry) -> str:
    if crawl.trouble is not None:
        return printable(crawl.trouble, 500)
    return "-" if crawl.last_at is None else moment(crawl.last_at)


def _delete(address: StoreAddress, name: str, *, yes: bool) -> int:
    if not address.is_server:
        raise UsageError(
            "--delete is for crawls in a shared store (--store redis://HOST): one in a directory "
            "is deleted with its directory, in which your results are as well"
        )
    # Imported when it is needed: the Redis client takes a while to load.
    from gossamer.stores.redis.address import parse_address  # noqa: PLC0415
    from gossamer.stores.redis.crawls import check_deletable, delete_crawl  # noqa: PLC0415

    server = parse_address(address.url)
    check_deletable(server, name)
    what = f"the crawl {printable(name, 200)} in {server}"
    if not yes and not _confirm(f"Delete {what}, with all of its pages?"):
        put_lines(["nothing was deleted"])
        return EXIT_KEPT
    delete_crawl(server, name)
    put_lines([f"deleted {what}"])
    return 0


def _confirm(question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here whether to delete it: add --yes")
    return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
