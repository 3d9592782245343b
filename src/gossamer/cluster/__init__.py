"""A crawl as several processes that share a Redis or Valkey.

`SharedCrawl` is what `gossamer crawl --store redis://…` runs: it adds the seeds, starts a
`Supervisor` of processes on this machine, shows how far they are and tells the end. The processes
play roles (`FrontierRole`, `WorkerRole`), and more of them may join from any machine and leave
again: whatever they must know of the crawl is in the store (`options`).
"""

from gossamer.cluster.frontier_role import FrontierRole
from gossamer.cluster.membership import Membership, join_crawl
from gossamer.cluster.participant import Participant, Role
from gossamer.cluster.shared_crawl import SharedCrawl
from gossamer.cluster.worker_role import WorkerRole

__all__ = [
    "FrontierRole",
    "Membership",
    "Participant",
    "Role",
    "SharedCrawl",
    "WorkerRole",
    "join_crawl",
]
