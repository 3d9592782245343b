"""The order of a worker process, made from the plan of its crawl."""

import time
from collections.abc import Callable, Sequence

from gossamer.cluster.contracts import WorkerOrder
from gossamer.config import StoreAddress
from gossamer.modules import Module
from gossamer.modules.hooks import Hooks
from gossamer.plan import Plan
from gossamer.plan.stored_options import pack_options


def order_for(
    plan: Plan,
    modules: Sequence[Module],
    clock: Callable[[], float],
    *,
    store: StoreAddress,
    coordinator_hooks: Hooks | None,
    wants_events: bool = False,
) -> WorkerOrder:
    """Return what all workers of a crawl are told; each gets its own number and slots.

    `modules` are those that run in the workers; `store` is where they find the store.
    """
    return WorkerOrder(
        number=0,
        slots=1,
        options=pack_options(plan.options),
        own_options={
            "store": store.url or str(store),
            "name": plan.name,
            "dir": str(plan.directory),
        },
        modules=tuple(one.name for one in modules),
        coordinator_hooks=coordinator_hooks,
        wants_events=wants_events,
        clock_offset_s=clock() - time.monotonic(),
        lease_s=plan.options.lease_s,
    )
