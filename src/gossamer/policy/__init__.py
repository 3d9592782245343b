"""The policies of a polite crawler, as pure functions: no I/O, and time is an argument.

- `robots`, `robots_rule`, `robots_state`: what robots.txt allows, and for how long that is valid;
  `robots_packed`: the same in few bytes.
- `directives`: whether a page allows following its links.
- `addresses`, `special_networks`: which IP addresses may be contacted.
- `failures`, `retry`: what each cause of failure means, and whether to try again.
- `link_kinds`, `media_types`: which links are followed, and what kind of content has which type.
- `rests`, `auto_delay`: how long a host is left alone after a request.
- `received`: how much is received of an answer, and for a task.
- `traps`, `url_shapes`: which URLs of a host are endless and yield nothing.
- `cookies`: what has changed in a cookie jar, and what of it is kept.
"""

from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.directives import may_follow
from gossamer.policy.failures import TREATMENTS
from gossamer.policy.robots import RobotsRules, RobotsVerdict, product_token
from gossamer.policy.robots_state import RobotsState, decide_robots

__all__ = [
    "TREATMENTS",
    "AddressPolicy",
    "RobotsRules",
    "RobotsState",
    "RobotsVerdict",
    "decide_robots",
    "may_follow",
    "product_token",
]
