"""What the workers of one process work with, made from the plan of the crawl."""

from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from gossamer.content import AnalysisRules
from gossamer.content.started_parser import StartedParser, has_spare_core
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.plan import Plan
from gossamer.download import Client, NameTable
from gossamer.frontier.scheduler import SchedulerRules
from gossamer.modules import ModuleContext, ModuleRunner
from gossamer.stores.contract import Store
from gossamer.worker.links import LinkFilter
from gossamer.worker.parser_pool import ParserPool
from gossamer.worker.pipeline import WorkerContext
from gossamer.worker.robots import PoliteRobots


class ProcessContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a process brings to a crawl of its own."""

    runner: ModuleRunner
    clock: Callable[[], float]
    observer: Observer
    dns: NameTable | None = None
    lease_s: float = SchedulerRules().lease_s
    alone: bool = False
    """Whether pages are analysed in this process only: others have the other cores."""
    parser: StartedParser | None = None
    """A process that was started to analyse pages."""


async def open_worker_context(
    plan: Plan,
    store: Store,
    own: ProcessContext,
    module_context: ModuleContext,
    stack: AsyncExitStack,
) -> WorkerContext:
    """Open the client and the modules; the stack closes them again."""
    options = plan.options
    client = await stack.enter_async_context(Client(plan.fetch_options(), plan.addresses, own.dns))
    await own.runner.open(module_context)
    stack.push_async_callback(own.runner.close)
    parser_pool = ParserPool(
        AnalysisRules(plan.markers, options.similarity),
        alone=own.alone or not has_spare_core(),
        started=own.parser,
    )
    stack.push_async_callback(parser_pool.close)
    if options.in_a_hurry:
        parser_pool.get_help()
    return WorkerContext(
        store=store,
        client=client,
        robots=PoliteRobots(client, store, plan.domain_of, own.clock, options.delay_s, own.lease_s),
        link_filter=LinkFilter(plan.scope, plan.domain_of),
        modules=own.runner,
        clock=own.clock,
        watch=own.observer.event if own.observer.wants_events else None,
        ignored_robots=plan.ignored_robots,
        parser_pool=parser_pool,
        max_depth=options.depth,
        lease_s=own.lease_s,
    )
