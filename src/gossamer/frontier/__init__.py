"""What to fetch next, and who fetches it.

Scorers say how soon a URL shall be fetched (`scorers`), a table turns the score into a priority
queue and a draw chooses the queue (`queues`). The desk deals URLs to workers and leases them out
when their hosts' moments have come (`desk`, `hosts`), within the budgets (`budget`).
"""

from gossamer.frontier.budget import Budget
from gossamer.frontier.desk import Desk, DeskRules, Lease, Pick
from gossamer.frontier.hosts import Domain, Host
from gossamer.frontier.queues import Draw, QueueTable

__all__ = ["Budget", "Desk", "DeskRules", "Domain", "Draw", "Host", "Lease", "Pick", "QueueTable"]
