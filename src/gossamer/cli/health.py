"""`gossamer health`: whether a role of a shared crawl is alive, for process supervisors."""

import asyncio
import os
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.cli.parameters import CrawlName, StoreUrl
from gossamer.cli.roles import Insecure
from gossamer.cluster.health import check_health
from gossamer.config import load

RoleName = Literal["frontier", "worker"]


def health(
    *,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    role: RoleName | None = None,
    number: Annotated[int | None, Parameter(name="--id", show_default=False)] = None,
    insecure_store: Insecure = False,
) -> int:
    """Check that the store answers and that a process has the role; the exit code is 1 if not.

    Parameters
    ----------
    store
        The store of the crawl: redis://HOST; prefer the variable GOSSAMER_STORE for passwords.
    crawl
        The name of the crawl.
    role
        The role that must be alive; without it, only the store is checked.
    number
        The number of the worker that must be alive; without it, any worker.
    insecure_store
        Accept a store on another machine without a password or TLS.

    """
    given = {"store": store, "name": crawl, "insecure_store": insecure_store or None}
    own = load(given, os.environ).options
    print(asyncio.run(check_health(own, role, number)))
    return 0
