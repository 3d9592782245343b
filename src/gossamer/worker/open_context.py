"""The context of the workers of one process, opened as the plan of the crawl says."""

import os
from collections.abc import Callable
from contextlib import AsyncExitStack

import msgspec

from gossamer.content import Analyser
from gossamer.download import AddressLocks, Client
from gossamer.frontier.contract import FrontierClient
from gossamer.model import Event, NameTable
from gossamer.plan import Plan
from gossamer.plan.seed_scope import seeded_scope
from gossamer.worker.bodies import open_body_writer
from gossamer.worker.context import WorkerContext
from gossamer.worker.cookies import CookieJars
from gossamer.worker.crash_note import CrashNote, PagesInHand
from gossamer.worker.hooks import Modules
from gossamer.worker.links import LinkFilter
from gossamer.worker.page_rows import PageRows
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.sitemaps import SitemapReader
from gossamer.worker.traps import TrapWatch


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
    address_locks: AddressLocks | None = None
    """Those that workers of other processes have too."""
    number: int = 0
    """That of its worker, or of the first."""


async def open_worker_context(
    plan: Plan, store: FrontierClient, own: ProcessContext, stack: AsyncExitStack
) -> WorkerContext:
    """Open the client; the stack closes it again."""
    options = plan.options
    cookies = CookieJars(store, plan.domains.registered_domain, plan.keeps_cookies)
    rules = plan.request_rules(os.environ)
    settings_for = None if rules is None else rules.settings_for
    client = await stack.enter_async_context(
        Client(plan.fetch_options(), plan.addresses, own.dns, settings_for, own.address_locks)
    )
    link_filter = LinkFilter(await seeded_scope(plan, store.note), plan.domain_of)
    return WorkerContext(
        store=store,
        client=client,
        robots=PoliteRobots(client, store, plan.domain_of, own.clock, own.lease_s),
        link_filter=link_filter,
        sitemaps=SitemapReader(store, link_filter, own.clock, auto=plan.reads_announced_sitemaps),
        modules=own.modules,
        clock=own.clock,
        watch=own.watch,
        ignored_robots=plan.ignored_robots,
        analyser=Analyser(plan.analysis_rules()),
        rows=PageRows(
            plan.row_fields, always=bool(options.fields), with_readings=plan.carries_readings
        ),
        in_hand=PagesInHand(own.note),
        cookies=cookies if plan.may_keep_cookies else None,
        max_depth=options.depth,
        retries=options.retries,
        lease_s=own.lease_s,
        similar_links=options.similar_links == "follow",
        bodies=await open_body_writer(plan, store, own.number, stack),
        traps=TrapWatch(store) if options.traps == "on" else None,
    )
