"""A crawl as several processes that share a Redis or Valkey.

`SharedCrawl` is what `gossamer crawl --store redis://…` runs: it plants the seeds, starts a `Crew`
of processes on this machine, shows how far they are and tells the end. The processes play roles
(`FrontierRole`, `WorkerRole`), and more of them may join from any machine and leave again: whatever
they must know of the crawl is in the store (`options`).
"""

from gossamer.control.cluster.frontier_role import FrontierRole
from gossamer.control.cluster.membership import Membership, join_crawl
from gossamer.control.cluster.part import Part, Role
from gossamer.control.cluster.shared_crawl import SharedCrawl
from gossamer.control.cluster.worker_role import WorkerRole

__all__ = [
    "FrontierRole",
    "Membership",
    "Part",
    "Role",
    "SharedCrawl",
    "WorkerRole",
    "join_crawl",
]
