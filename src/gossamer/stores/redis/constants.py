"""Numbers and words that the function library shares with the rest of Gossamer.

In Lua they are the table `const`. What belongs to one part of Gossamer is defined there, and only
named here.
"""

import math
from collections.abc import Mapping
from types import ModuleType

from gossamer.frontier import hosts, queues, scheduler, scheduler_rules
from gossamer.model import Outcome
from gossamer.policy import auto_delay, cookies, rests
from gossamer.stores import claim, contract, keeping, listing, retrying
from gossamer.stores import cookies as stored_cookies
from gossamer.stores.embedded import host_registry, lsh_index, store
from gossamer.stores.redis import alive, records
from gossamer.stores.url_record import UrlState


def _of(module: ModuleType, *names: str) -> dict[str, int | float | str]:
    return {name: getattr(module, name) for name in names}


CONSTANTS: Mapping[str, int | float | str] = {
    **{state.name: state.value for state in UrlState},
    "INF": math.inf,
    "ANSWERS": 1024,  # are kept for each client: more calls than that are never on their way
    "ANSWERS_S": 86_400,
    "LEASES_PER_S": 10_000,  # a lease's number is its moment, in such parts of a second, or more
    "GAVE_UP": Outcome.GAVE_UP.value,
    "REDIRECTED": Outcome.REDIRECTED.value,
    "DUPLICATE": Outcome.DUPLICATE.value,
    "RECORD_SIZE": records.RECORD.size,
    **_of(contract, "MAX_DEATHS", "MAX_ATTEMPTS", "POISON_WORDS", "LATE_S"),
    **_of(claim, "THIS_PAGE"),
    **_of(keeping, "SAME_CONTENT"),
    **_of(listing, "MAX_SITEMAPS"),
    **_of(retrying, "RETRIED_AT_ONCE"),
    **_of(records, "RECORD_VERSION", "SCORED", "REDIRECT", "GIVEN_SCORE", "LISTED"),
    **_of(records, "MOST_HOPS", "MOST_LINKS"),
    **_of(alive, "AT_WORK", "IN_ORDER"),
    **_of(lsh_index, "MAX_SHARING", "MAX_CANDIDATES", "MAX_UNREAD"),
    **_of(queues, "MAX_SCORE"),
    **_of(hosts, "ANYONE"),
    **_of(rests, "MAX_RETRY_AFTER_S", "MAX_BACK_OFF_S", "HOPELESS_AFTER"),
    **_of(rests, "HOPELESS_AFTER_REFUSALS"),
    **_of(auto_delay, "FIRST_DELAY_S", "PAUSE_PER_ANSWER", "MAX_AUTO_DELAY_S", "RISE", "FALL"),
    **_of(cookies, "MAX_COOKIES", "MAX_COOKIE_DOMAINS"),
    **_of(stored_cookies, "COOKIES_NOTE", "COOKIE_DOMAINS_NOTE"),
    **_of(scheduler, "SOON_S", "PROMISE_S", "ASK_AGAIN_S", "ASSIGNED_AT_ONCE"),
    **_of(scheduler_rules, "MAX_ASSIGNED", "RESERVED_FROM"),
    **_of(host_registry, "SLOW_HOSTS"),
    **_of(store, "EXPIRED_AT_ONCE"),
}
