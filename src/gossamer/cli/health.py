"""`gossamer health`: whether a role of a shared crawl is alive, for process supervisors."""

import asyncio
import os
from typing import Annotated, Literal

from gossamer.cli.output import put_lines
from gossamer.cli.parameters import CrawlName, Insecure, SharedStoreUrl, option
from gossamer.cluster.health import check_health
from gossamer.config import load


def health(
    *,
    store: SharedStoreUrl = None,
    crawl: CrawlName = None,
    role: Literal["frontier", "worker"] | None = None,
    number: Annotated[
        int | None,
        option("--id", "The number of the worker that must be alive; without it, any worker."),
    ] = None,
    insecure_store: Insecure = False,
) -> int:
    """Check that the store answers and that a process has the role; the exit code is 1 if not.

    Parameters
    ----------
    role
        The role that must be alive; without it, only the store is checked.
    """
    given = {"store": store, "name": crawl, "insecure_store": insecure_store or None}
    own = load(given, os.environ).options
    put_lines([asyncio.run(check_health(own, role, number))])
    return 0
