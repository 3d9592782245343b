"""The frontier: what to fetch next, and who fetches it.

`Frontier` is prioritiser and router. Scorers say how soon a URL shall be fetched (`scorers`), a
table turns the score into a priority queue, and a draw chooses the queue (`queues`). The
`Scheduler` assigns URLs to workers and leases them out when their hosts may be asked, within the
budgets (`scheduler_rules`, `budget`). It goes by the state of hosts and domains (`hosts`,
`active_hosts`): the router finds those of which something can be assigned (`rings`), each worker
those that it may ask (`agenda`), and `leases` tell who works on what.
"""

from gossamer.frontier.budget import Budget
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.hosts import Domain, Host, Item
from gossamer.frontier.leases import Lease
from gossamer.frontier.queues import Draw, QueueTable
from gossamer.frontier.scheduler import Assignment, Scheduler
from gossamer.frontier.scheduler_rules import SchedulerRules

__all__ = [
    "Assignment",
    "Budget",
    "Domain",
    "Draw",
    "Frontier",
    "Host",
    "Item",
    "Lease",
    "QueueTable",
    "Scheduler",
    "SchedulerRules",
]
