"""The URL frontier: all the rules of a crawl, once.

`Frontier` (service) has them; `FrontierClient` (contract) is how workers and the coordinator call
it. Scorers decide how soon a URL is fetched (`scorers`). A table maps the score to a priority
queue, and a weighted random draw chooses the queue (`queues`, `router`). The `Scheduler` assigns
URLs to workers and leases them out when their hosts are due, within the budgets.
"""
