"""Numbers and words that the function library shares with the rest of Gossamer.

In Lua they are the table `const`. What belongs to one part of Gossamer is defined there, and only
named here.
"""

import math
from collections.abc import Mapping

from gossamer.frontier import scheduler, scheduler_rules
from gossamer.frontier.queues import MAX_SCORE
from gossamer.model import Outcome
from gossamer.policy import rests
from gossamer.stores.contract import UrlState
from gossamer.stores.embedded import host_registry, store
from gossamer.stores.redis import records
from gossamer.stores.redis.alive import AT_WORK, IN_ORDER

ANSWERS = 1024
"""How many answers are kept for each client: more calls than that are never on their way."""
ANSWERS_S = 86_400
LEASES_PER_S = 10_000
"""The number of a lease is the moment at which it was given, in parts of a second, or the next."""
LONGEST_MS = 10**13
"""Nothing is kept for a longer time: the server counts it in 64 bits."""
POISON_DEATHS = 3
POISON_WORDS = "it crashed three workers"
MAX_SHARING = 32
"""How many pages of a band are looked at: the last ones."""
MAX_CANDIDATES = 32
"""How many pages are compared: those that share most bands."""

CONSTANTS: Mapping[str, int | float | str] = {
    **{state.name: state.value for state in UrlState},
    "INF": math.inf,
    "AT_WORK": AT_WORK,
    "IN_ORDER": IN_ORDER,
    "RECORD_VERSION": records.RECORD_VERSION,
    "RECORD_SIZE": records.RECORD.size,
    "SCORED": records.SCORED,
    "REDIRECT": records.REDIRECT,
    "MOST_HOPS": records.MOST_HOPS,
    "ANSWERS": ANSWERS,
    "ANSWERS_S": ANSWERS_S,
    "LEASES_PER_S": LEASES_PER_S,
    "LONGEST_MS": LONGEST_MS,
    "GAVE_UP": Outcome.GAVE_UP.value,
    "POISON_DEATHS": POISON_DEATHS,
    "POISON_WORDS": POISON_WORDS,
    "MAX_SHARING": MAX_SHARING,
    "MAX_CANDIDATES": MAX_CANDIDATES,
    "MAX_SCORE": MAX_SCORE,
    "MAX_RETRY_AFTER_S": rests.MAX_RETRY_AFTER_S,
    "MAX_BACK_OFF_S": rests.MAX_BACK_OFF_S,
    "HOPELESS_AFTER": rests.HOPELESS_AFTER,
    "HOPELESS_AFTER_REFUSALS": rests.HOPELESS_AFTER_REFUSALS,
    "SOON_S": scheduler.SOON_S,
    "PROMISE_S": scheduler.PROMISE_S,
    "ASK_AGAIN_S": scheduler.ASK_AGAIN_S,
    "ASSIGNED_AT_ONCE": scheduler.ASSIGNED_AT_ONCE,
    "MAX_ASSIGNED": scheduler_rules.MAX_ASSIGNED,
    "SLOW_HOSTS": host_registry.SLOW_HOSTS,
    "EXPIRED_AT_ONCE": store.EXPIRED_AT_ONCE,
}
