"""The name of every key that the store has in Redis.

All keys of a crawl carry the hash tag `{crawl}`, so that they lie on one node of a cluster and one
step may touch them together. In Lua the table `NAMES` is `K`; a name that ends with a colon is
followed by a number or by bytes. Moments are in seconds, unless it says microseconds.
"""

from typing import Final

REGISTRY: Final = "gossamer:crawls"
"""A set: the names of the crawls that this Redis holds."""

NAMES: Final = {
    # URLs
    "known": "known",  # hash: the key of a URL -> its id, and how far it was when it was found
    "urls": "urls",  # hash: id -> record (lua/urls.lua)
    "targets": "targets",  # hash: id -> where its links lead, as steps from id to id
    "listings": "listings",  # hash: id -> what was given with the first link to it (records.py)
    "sitemaps": "sitemaps",  # hash: registered domain -> how many sitemaps it has
    "slices": "slices:",  # list of a URL: links of its page that are to be added (lua/slices.lua)
    "unadded": "unadded",  # sorted set: URLs that have such, by when they settled, in microseconds
    "relaxing": "relaxing",  # sorted set: URLs that came nearer, their links not (lua/paths.lua)
    "url_queue": "url-queue",  # sorted set: the URL queue, ids in the order in which they came
    "queued": "queued:",  # sorted set of a host: what waits in the priority queues, by score
    "assigned": "assigned:",  # sorted set of a host: what is assigned to its worker, by score
    "outcomes": "outcomes",  # hash: reason (stores/reasons.py) -> how many URLs are done for it
    "depths": "depths",  # hash: how many URLs there are of each depth, see DEPTH_COUNTS
    "queue_counts": "queue-counts",  # hash: queue -> how many URLs are queued or assigned
    "given_scores": "given-scores",  # hash: id -> the score that came with the link to it
    # hosts and domains
    "hosts": "hosts",  # hash: number -> record (lua/hosts.lua)
    "host_ids": "host-ids",  # hash: name -> number
    "host_urls": "host-urls",  # hash: number -> how many URLs are known
    "domains": "domains",  # hash: name -> who serves it, until when, how much
    "credits": "credits",  # hash: domain -> importance
    "slow": "slow",  # sorted set: the slowest hosts
    "taken_slots": "taken-slots",  # hash: host -> how many slots without a task
    "slot_deadlines": "slot-deadlines",  # sorted set: these hosts by when their slots end
    # the router
    "ring": "ring:",  # list of a queue: the hosts in the order of their turns
    "parked": "parked",  # sorted set: hosts that rest for long, by their moment
    "away": "away:",  # list of a worker: hosts for which it has no room
    "crowded": "crowded",  # set: the workers that have such a list
    # workers and leases; the worker -1 stands for all: shared hosts are assigned to it
    "loads": "loads",  # sorted set: workers by how many URLs they have, queued or in progress
    "queue_lengths": "queue-lengths",  # hash: worker -> how many URLs are assigned to it
    "seen": "seen",  # sorted set: workers by their last sign of life
    "reports": "reports",  # hash: worker -> what it told of its process (msgpack)
    "shares": "shares:",  # hash of a worker: shared host -> how many of its URLs it works on
    "served": "served:",  # set of a worker: the hosts of which it has URLs
    "agenda": "agenda:",  # sorted set of a worker: hosts by their moment, in microseconds
    "unproven": "unproven:",  # the same, for hosts that did not answer last, or are new
    "trying": "trying",  # hash: worker -> on how many URLs of such hosts it works
    "ready": "ready:",  # sorted set of a worker, in strict order: hosts by their best URL
    "unproven_ready": "unproven-ready:",  # the same, for hosts that did not answer last, or are new
    "leases": "leases",  # hash: URL -> lease
    "deadlines": "deadlines",  # sorted set: leased URLs by their deadline, in microseconds
    # pages
    "pages": "pages",  # hash: number -> record (records.py)
    "content": "content:",  # string of a page: its body and its exchange, packed
    "digest": "digest:",  # string of a content: for each page when it was fetched, who claims it
    "band": "band:",  # string of a band: the pages that have it
    "sample": "sample:",  # string of a page: who claims it, and what similarity is measured by
    "compared": "compared",  # hash: page -> digest and bands, where pages are visited again
    "next_sample": "next-sample:",  # string of a page: of a version that is not settled yet
    "kept": "kept",  # sorted set: pages by age, where the clock is given
    "depth_changes": "depth-changes",  # hash: page -> URL, where the modules know a larger depth
    "claims": "claims",  # hash: URL in progress -> number, digest, bands
    "refusals": "refusals",  # hash: URL in progress -> because of which page or claim
    "relying": "relying:",  # set of a URL in progress: those that were refused because of it
    "free": "free",  # sorted set: the numbers of pages that are free again
    "results": "results",  # list: the log of results (lua/results.lua)
    "row": "row:",  # string of a result: the page as a row of a table, until the outputs have it
    # the crawl
    "counts": "counts",  # string: the counters of the crawl, packed (counters.py)
    "notes": "notes",  # hash: the notes of the crawl (notes.py)
    "messages": "messages",  # stream: the last messages of processes that have joined
    "leader": "leader:",  # string of a role: who has it at present
    "rules": "rules",  # string: the rules of the crawl (rules.py)
    "watched": "watched",  # string, for a minute: somebody copies; counts the steps meanwhile
    "changed": "changed",  # sorted set: the URLs that were changed meanwhile, by the step
    "answers": "answers:",  # hash of a client: its last answers, in case they got lost
    "quarantine": "quarantine",  # list: records that nobody could read
}

COUNTERS: Final = (
    *(
        "urls",
        "unscored",
        "line",
    ),  # the last URL id; how many are unscored; the last in line
    *("queued", "assigned", "in_progress", "too_deep"),  # how many URLs are in these states
    "relaxing",  # how many URLs have come nearer whose links are still to be followed
    "unadded",  # how many URLs have ended of whose links some are still to be added
    "common",  # how many of the assigned ones are assigned to all workers together
    "broken",  # how many records were put into the quarantine
    *("hosts", "met"),  # the number of the last host; how many hosts have a known URL
    *("credit", "taken_slots"),  # the largest credit of a domain; slots taken without a task
    *("page", "pages", "visits"),  # the last page number given; pages kept; how often in all
    *("claims", "free"),  # entries of claims and refusals together; free numbers of pages
    *("bytes", "received"),  # size of pages read; bytes of bodies received
    "reserved",  # bytes that leases may still receive
    "short_at",  # under which limit of bytes the rest was too little for a task
    "reading",  # 1 while seeds are still to be added
    "listed",  # how many URLs were found in sitemaps
    "over_host_urls",  # how many links were left out, as their hosts have too many URLs
    "url_queue_peak",  # how many URLs have waited for their score at most
    "lease",  # the number of the last lease
    "rows_dropped",  # up to which result the rows were dropped
    *("started", "last"),  # when the first and the last attempt ended; 0: none has
    "closed",  # how the last process was seen or has ended (alive.py)
    *("server", "unsure"),  # who carried out the last step; until when hosts count as asked
)
"""The counters of `counts`, in the order in which they are packed."""

DEPTH_COUNTS: Final = ("urls", "done", "pages")
"""How many URLs of a depth are known, are done, and have a page; a field of `depths` is
`<count>:<depth>`. One that is not there is 0."""


def prefix(crawl: str) -> str:
    """Return how every key of a crawl begins."""
    return f"gossamer:{{{crawl}}}:"


def key(crawl: str, name: str) -> str:
    """Return the whole name of a key, or how it begins where something follows."""
    return prefix(crawl) + NAMES[name]
