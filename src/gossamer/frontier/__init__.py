"""The URL frontier: what to fetch next, and which worker fetches it.

`Frontier` is prioritiser and router. Scorers decide how soon a URL is fetched (`scorers`), a table
maps the score to a priority queue, and a weighted random draw chooses the queue (`queues`). The
`Scheduler` assigns URLs to workers and leases them out when their hosts are due, within the budgets
(`scheduler_rules`, `budget`). It keeps the state of hosts and domains (`hosts`, `active_hosts`),
the hosts with assignable URLs for the router (`rings`), the due hosts of each worker (`agenda`,
`agendas`), and the `leases`.
"""

from gossamer.frontier.agendas import WorkerLoad
from gossamer.frontier.budget import Budget
from gossamer.frontier.hosts import Host, Item
from gossamer.frontier.leases import Lease
from gossamer.frontier.queues import QueueTable
from gossamer.frontier.scheduler import Scheduler
from gossamer.frontier.scheduler_rules import SchedulerRules

__all__ = [
    "Budget",
    "Host",
    "Item",
    "Lease",
    "QueueTable",
    "Scheduler",
    "SchedulerRules",
    "WorkerLoad",
]
