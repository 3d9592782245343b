"""The roles of a shared crawl, each as a process of its own.

More of them may join a crawl from any machine and leave again (`FrontierRole`, `WorkerRole`):
whatever they must know of it is in the store (`membership`).
"""

from gossamer.cluster.frontier_role import FrontierRole
from gossamer.cluster.membership import Membership
from gossamer.cluster.participant import Participant, Role
from gossamer.cluster.worker_role import WorkerRole

__all__ = [
    "FrontierRole",
    "Membership",
    "Participant",
    "Role",
    "WorkerRole",
]
