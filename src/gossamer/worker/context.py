"""What the workers of one process work with, made from the plan of the crawl."""

from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from gossamer.content import Analyser, AnalysisRules
from gossamer.download import Client
from gossamer.model import Event, NameTable
from gossamer.plan import Plan
from gossamer.stores.contract import Store
from gossamer.worker.crash_note import CrashNote, PagesInHand
from gossamer.worker.links import LinkFilter
from gossamer.worker.pipeline import Modules, WorkerContext
from gossamer.worker.robots import PoliteRobots


class ProcessContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a process brings to a crawl of its own."""

    modules: Modules
    """Opened already, and closed by whoever opened them."""
    clock: Callable[[], float]
    lease_s: float
    watch: Callable[[Event], None] | None = None
    """Wants to know each step; None: nobody does."""
    dns: NameTable | None = None
    note: CrashNote | None = None
    """Tells others which pages are in hand."""


async def open_worker_context(
    plan: Plan, store: Store, own: ProcessContext, stack: AsyncExitStack
) -> WorkerContext:
    """Open the client; the stack closes it again."""
    options = plan.options
    client = await stack.enter_async_context(Client(plan.fetch_options(), plan.addresses, own.dns))
    return WorkerContext(
        store=store,
        client=client,
        robots=PoliteRobots(client, store, plan.domain_of, own.clock, options.delay_s, own.lease_s),
        link_filter=LinkFilter(plan.scope, plan.domain_of),
        modules=own.modules,
        clock=own.clock,
        watch=own.watch,
        ignored_robots=plan.ignored_robots,
        analyser=Analyser(AnalysisRules(plan.markers, options.similarity)),
        in_hand=PagesInHand(own.note),
        max_depth=options.depth,
        lease_s=own.lease_s,
    )
