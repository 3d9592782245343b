"""`gossamer health`: whether a role of a shared crawl is alive, for whoever restarts it."""

import asyncio
import os
from typing import Annotated, Literal

from cyclopts import Parameter

from gossamer.cli.parameters import CrawlName, StoreUrl
from gossamer.cli.roles import Insecure
from gossamer.cluster.health import check_health
from gossamer.config import load

Role = Literal["frontier", "worker"]


def health(
    *,
    store: StoreUrl = None,
    crawl: CrawlName = None,
    role: Role | None = None,
    number: Annotated[int | None, Parameter(name="--id", show_default=False)] = None,
    insecure_store: Insecure = False,
) -> int:
    """Check that the store answers and that somebody plays the role; the exit code is 1 if not.

    Parameters
    ----------
    store
        Where the crawl is: redis://HOST; better set as the variable GOSSAMER_STORE.
    crawl
        The name of the crawl.
    role
        The role that must be played; without it, the store alone is checked.
    number
        The worker that must be alive; without it, any.
    insecure_store
        Accept a foreign store without a password or TLS.

    """
    given = {"store": store, "name": crawl, "insecure_store": insecure_store or None}
    own = load(given, os.environ).options
    print(asyncio.run(check_health(own, role, number)))
    return 0
