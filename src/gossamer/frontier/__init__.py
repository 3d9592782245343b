"""What to fetch next, and who fetches it.

Scorers say how soon a URL shall be fetched (`scorers`), a table turns the score into a priority
queue and a draw chooses the queue (`queues`). The desk deals URLs to workers and leases them out
when their hosts' moments have come, within the budgets (`desk`, `desk_rules`, `budget`). It goes
by the state of hosts and domains (`hosts`, `host_table`): the router finds those of which something
can be dealt (`rings`), each worker those that it may ask (`agenda`), and `leases` tell who works
on what.
"""

from gossamer.frontier.budget import Budget
from gossamer.frontier.desk import Desk, Pick
from gossamer.frontier.desk_rules import DeskRules
from gossamer.frontier.hosts import Domain, Host, Item
from gossamer.frontier.leases import Lease
from gossamer.frontier.queues import Draw, QueueTable

__all__ = [
    "Budget",
    "Desk",
    "DeskRules",
    "Domain",
    "Draw",
    "Host",
    "Item",
    "Lease",
    "Pick",
    "QueueTable",
]
