"""How a crawl begins, or goes on: its seeds, its options, and what failed before."""

import os
from collections.abc import Callable
from functools import partial

import msgspec

from gossamer.coordinator.observer import Observer
from gossamer.frontier.contract import FrontierClient
from gossamer.frontier.listing import ANY_DOMAIN
from gossamer.frontier.retrying import RetryRequest
from gossamer.plan import Plan
from gossamer.plan.commands import crawl_command
from gossamer.plan.continuing import module_changes
from gossamer.plan.origin import ORIGIN_NOTE, origin_of, read_origin
from gossamer.plan.stored_options import read_options
from gossamer.stores.notes import OPTIONS_NOTE
from gossamer.worker.links import LinkFilter
from gossamer.worker.sitemaps import as_sitemap


async def has_begun(plan: Plan, store: FrontierClient, observer: Observer, pages: int) -> bool:
    """Tell whether a crawl goes on; say which modules missed its pages, or will."""
    note = await store.note(OPTIONS_NOTE)
    before = read_options(note, "the store")
    if before is not None and pages:
        origin = read_origin(await store.note(ORIGIN_NOTE))
        replay = partial(crawl_command, plan, os.environ, "replay", "--module")
        for sentence in module_changes(before.module, plan.options.module, origin, replay):
            observer.say("warning", sentence)
    return note is not None


async def begin(plan: Plan, store: FrontierClient, now: float, *, begun: bool) -> None:
    """Add the seeds of a new crawl, and keep its options, of which some may have changed."""
    if not begun:
        link_filter = LinkFilter(plan.scope, plan.domain_of)
        seeds = [link_filter.file(one) for one in plan.seeds]
        seeds += [as_sitemap(link_filter, one, ANY_DOMAIN) for one in plan.sitemaps]
        await store.add_seeds(seeds, now)
    await store.put_note(OPTIONS_NOTE, plan.shared_options())
    origin = origin_of(plan.options, plan.directory)
    await store.put_note(ORIGIN_NOTE, msgspec.json.encode(origin))
    await store.commit()


async def retry_failed(
    store: FrontierClient, request: RetryRequest, clock: Callable[[], float], observer: Observer
) -> None:
    """Let failed URLs wait again, in steps of which each is durable by itself."""
    retried, next_id = 0, 1
    while next_id:
        answer = await store.retry_failed(request, next_id, clock())
        retried += answer.urls
        next_id = answer.next_id or 0
        await store.commit()
    some = f"{retried:,} failed URL{'' if retried == 1 else 's'}"
    observer.say("info", f"{some} to try again")
