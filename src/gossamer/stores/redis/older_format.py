"""What is still known of crawls that an older version of Gossamer has left in Redis.

Their rules were carried out on the server. They can be listed and deleted, and not be read.
"""

from typing import Any, Final

from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.row_keys import RowKeys

LEADERS: Final = (b"leader:coordinator", b"leader:frontier")
"""Strings that run out: who has a role."""
SEEN: Final = b"seen"
"""A sorted set: workers by their last sign of life, by the server's clock."""
SILENT_S: Final = 60.0
"""After how long without a sign a worker counts as gone."""


def is_worked_on(link: BlockingLink, keys: RowKeys) -> bool:
    """Tell whether processes of an older version work on a crawl."""
    leaders = [keys.everything + name for name in LEADERS]
    seen: list[bytes]
    moment: list[Any]
    led, seen, moment = link.ask(
        ("EXISTS", *leaders),
        ("ZRANGE", keys.everything + SEEN, 0, 0, "REV", "WITHSCORES"),
        ("TIME",),
    )
    return bool(led) or bool(seen and float(seen[1]) + SILENT_S > int(moment[0]))
