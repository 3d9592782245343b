"""What the workers of one process work with, made from the plan of the crawl."""

from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from gossamer.content import AnalysisRules
from gossamer.content.started_analyst import StartedAnalyst, has_spare_core
from gossamer.control.observer import Observer
from gossamer.control.plan import Plan
from gossamer.download import Client, NameTable
from gossamer.frontier.desk import DeskRules
from gossamer.modules import ModuleContext, ModuleRunner
from gossamer.stores.contract import Store
from gossamer.worker.analysts import Analysts
from gossamer.worker.links import LinkFiler
from gossamer.worker.pipeline import Kit
from gossamer.worker.robots import PoliteRobots


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a process brings to a crawl of its own."""

    runner: ModuleRunner
    clock: Callable[[], float]
    observer: Observer
    dns: NameTable | None = None
    lease_s: float = DeskRules().lease_s
    alone: bool = False
    """Whether pages are analysed in this process only: others have the other cores."""
    analyst: StartedAnalyst | None = None
    """A process that was started to analyse pages."""


async def open_kit(
    plan: Plan, store: Store, own: Surroundings, context: ModuleContext, stack: AsyncExitStack
) -> Kit:
    """Open the client and the modules; the stack closes them again."""
    options = plan.options
    client = await stack.enter_async_context(Client(plan.fetch_options(), plan.addresses, own.dns))
    await own.runner.open(context)
    stack.push_async_callback(own.runner.close)
    analysts = Analysts(
        AnalysisRules(plan.markers, options.similarity),
        alone=own.alone or not has_spare_core(),
        started=own.analyst,
    )
    stack.push_async_callback(analysts.close)
    if options.in_a_hurry:
        analysts.get_help()
    return Kit(
        store=store,
        client=client,
        robots=PoliteRobots(client, store, plan.domain_of, own.clock, options.delay_s, own.lease_s),
        filer=LinkFiler(plan.scope, plan.domain_of),
        modules=own.runner,
        clock=own.clock,
        watch=own.observer.event if own.observer.wants_events else None,
        ignored_robots=plan.ignored_robots,
        analysts=analysts,
        max_depth=options.depth,
        lease_s=own.lease_s,
    )
