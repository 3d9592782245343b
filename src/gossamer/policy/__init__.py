"""The policies of a polite crawler, as pure functions: no I/O, and time is an argument.

- `robots`: what robots.txt allows, and whether a page allows following its links; `robots_state`:
  for how long that is valid.
- `addresses`: which IP addresses may be contacted.
- `failures`: what each cause of failure means, and whether to retry; `backoff`: how long a host is
  left alone after a request.
- `content_kinds`: which kind of content a media type is, and which kinds of links are followed.
- `size_limits`: how much is received of an answer, and for a task.
- `traps`: which URLs of a host are endless and lead to nothing new.
- `cookies`: what has changed in a cookie jar, and what of it is stored.
"""

from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.failures import TREATMENTS
from gossamer.policy.robots import RobotsVerdict, may_follow

__all__ = ["TREATMENTS", "AddressPolicy", "RobotsVerdict", "may_follow"]
