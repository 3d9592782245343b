"""The name of every key that the store has in Redis.

All keys of a crawl carry the hash tag `{crawl}`, so that they lie on one node of a cluster and one
step may touch them together. The scripts get this table as `K`; what ends with a
colon is followed by a number or by bytes.
"""

from typing import Final

REGISTRY: Final = "gossamer:crawls"
"""A set: the crawls that this Redis holds."""

NAMES: Final = {
    # URLs
    "known": "known",  # hash: the key of a URL -> its id
    "urls": "urls",  # hash: id -> record (lua/urls.lua)
    "targets": "targets",  # hash: id -> where its links lead, as steps from id to id
    "url_queue": "url-queue",  # sorted set: the URL queue, ids in the order in which they came
    "queued": "queued:",  # sorted set of a host: what waits in the priority queues, by score
    "assigned": "assigned:",  # sorted set of a host: what is assigned to its worker, by score
    "outcomes": "outcomes",  # hash: outcome -> how often
    # hosts and domains
    "hosts": "hosts",  # hash: number -> record (lua/hosts.lua)
    "host_ids": "host-ids",  # hash: name -> number
    "domains": "domains",  # hash: name -> who serves it, until when, how much
    "credits": "credits",  # hash: domain -> importance
    "slow": "slow",  # sorted set: the slowest hosts
    "taken_slots": "taken-slots",  # hash: host -> how many slots without a task
    "slot_deadlines": "slot-deadlines",  # sorted set: those hosts by when the slots end
    # the router
    "ring": "ring:",  # list of a queue: the hosts in the order of their turns
    "parked": "parked",  # sorted set: hosts that rest for long, by their moment
    "away": "away:",  # list of a worker: hosts for which it has no room
    "crowded": "crowded",  # set: the workers that have such a list
    # workers and leases
    "loads": "loads",  # sorted set: workers by the length of their queues
    "seen": "seen",  # sorted set: workers by their last sign of life
    "served": "served:",  # set of a worker: the hosts of which it has URLs
    "agenda": "agenda:",  # sorted set of a worker: hosts by their moment
    "ready": "ready:",  # sorted set of a worker, in strict order: hosts by their best URL
    "leases": "leases",  # hash: URL -> lease
    "deadlines": "deadlines",  # sorted set: leased URLs by their deadline
    # pages
    "pages": "pages",  # hash: number -> record (pages.py)
    "content": "content:",  # string of a page: its body, compressed
    "digest": "digest:",  # string of a content: when it was fetched, its page, who claims it
    "band": "band:",  # string of a band: the pages that have it
    "sample": "sample:",  # string of a page: who claims it, and what similarity is measured by
    "kept": "kept",  # sorted set: pages by age, where the clock is given
    "depth_changes": "depth-changes",  # hash: page -> URL, where the modules know a larger depth
    "claims": "claims",  # hash: URL in progress -> number, digest, bands
    "refusals": "refusals",  # hash: URL in progress -> because of which page or claim
    "relying": "relying:",  # set of a URL in progress: those that were refused because of it
    "free": "free",  # sorted set: the numbers to be given again
    # the crawl
    "counts": "counts",  # hash: the counters
    "notes": "notes",  # hash: what processes tell each other (notes.py)
    "leader": "leader:",  # string of a role: who has it at present
    "rules": "rules",  # string: the rules of the crawl (rules.py)
    "watched": "watched",  # string, for a minute: somebody copies; counts the steps meanwhile
    "changed": "changed",  # sorted set: the URLs that were changed meanwhile, by the step
    "answers": "answers:",  # hash of a client: its last answers, in case that they got lost
    "quarantine": "quarantine",  # list: what nobody could read
}


def prefix(crawl: str) -> str:
    """Return how every key of a crawl begins."""
    return f"gossamer:{{{crawl}}}:"


def key(crawl: str, name: str) -> str:
    """Return the whole name of a key, or how it begins where something follows."""
    return prefix(crawl) + NAMES[name]
