"""Failed URLs that are to be tried again: which ones, and how many there were."""

import msgspec

from gossamer.model import HostKey, Outcome

RETRIED_AT_ONCE = 250
"""How many URLs `retry_failed` looks at in one step, which must not take long."""


class RetryRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which failed URLs are to be tried again."""

    outcomes: frozenset[Outcome]
    """None of those of a URL that has a page, repeats one or leads to one."""
    hosts: frozenset[HostKey] = frozenset()
    """Only URLs of these hosts; empty: of any."""


class Retried(msgspec.Struct, frozen=True):
    """The answer to a request to try failed URLs again."""

    urls: int
    """How many wait now."""
    next_id: int | None
    """From which URL on to ask again; None: that was all."""
