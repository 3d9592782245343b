"""The scope of a crawl whose seeds are in files: stored with it, for all of its processes.

Files of seeds are read before the crawl begins, once, to know what is in scope: the answer must not
depend on how far they were read when a link was found. What is stored takes 8 bytes for a host.
"""

from collections.abc import Awaitable, Callable

from gossamer.config import CrawlOptions, HostTable
from gossamer.plan.plan import Plan
from gossamer.urls import Scope, ScopeKind, SeedKeys

SCOPE_NOTE = "seed-scope"
"""The note of the hosts, domains or directories of the seeds in files."""

ReadNote = Callable[[str], Awaitable[bytes | None]]


def kinds_of_scope(options: CrawlOptions) -> list[ScopeKind]:
    """Return the kinds of scope that depend on seeds in files: the crawl's, and those of rules."""
    if not options.seed_files:
        return []
    ruled = [rule.values.get("scope") for rule in HostTable.of(options.host).rules]
    kinds: list[ScopeKind] = ["host", "domain", "prefix"]
    return [kind for kind in kinds if kind in (options.scope, *ruled)]


async def seeded_scope(plan: Plan, note: ReadNote) -> Scope:
    """Return the scope of a crawl, with the seeds in files."""
    if not kinds_of_scope(plan.options):
        return plan.scope
    return plan.scope_with(SeedKeys(await note(SCOPE_NOTE) or b""))
