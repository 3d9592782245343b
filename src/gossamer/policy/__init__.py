"""Pure decisions: what may be fetched, and when. Time is an argument, nothing here waits or asks.

- `robots`, `robots_rule`, `robots_state`: what robots.txt allows us, and for how long we know it.
- `directives`: what a page says about following its links.
- `addresses`, `special_networks`: which addresses may be contacted.
- `failures`: what each cause of failure means.
- `politeness`: when a host may be asked again.
"""

from gossamer.policy.addresses import AddressPolicy, AddressVerdict
from gossamer.policy.directives import may_follow
from gossamer.policy.failures import TREATMENTS, Treatment, cause_of_status
from gossamer.policy.politeness import Pacing
from gossamer.policy.robots import (
    MAX_ROBOTS_BYTES,
    RobotsRules,
    RobotsVerdict,
    parse_robots,
    product_token,
)
from gossamer.policy.robots_state import RobotsState, decide_robots

__all__ = [
    "MAX_ROBOTS_BYTES",
    "TREATMENTS",
    "AddressPolicy",
    "AddressVerdict",
    "Pacing",
    "RobotsRules",
    "RobotsState",
    "RobotsVerdict",
    "Treatment",
    "cause_of_status",
    "decide_robots",
    "may_follow",
    "parse_robots",
    "product_token",
]
