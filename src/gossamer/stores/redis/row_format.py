"""The format of a crawl's rows in Redis, and the end of a crawl in any format."""

from collections.abc import Callable
from typing import Final

from gossamer.errors import CrawlError, OlderFormatError
from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.row_keys import RowKeys

FORMAT: Final = 1
"""The number of the format that this version writes."""
DELETED_AT_ONCE = 1_000


class RowFormat:
    """In which format a crawl is stored."""

    def __init__(self, keys: RowKeys, crawl: str, where: str) -> None:
        """Take the keys of a crawl, its name, and what it is called among people."""
        self._keys = keys
        self._crawl = crawl
        self._where = where

    def check(self, link: BlockingLink) -> None:
        """Refuse a crawl that another version of the program has begun."""
        stored, has_rules = link.ask(("GET", self._keys.format), ("EXISTS", self._keys.rules))
        if stored is not None and not stored.isdigit():
            raise CrawlError(
                f"{self._where} is damaged: its format is not a number; start over with --fresh"
            )
        if has_rules or (stored is not None and int(stored) < FORMAT):
            raise OlderFormatError(
                f"{self._where} was begun with an older version of Gossamer, in a format that this "
                "one does not have: finish it with that version, or start over with --fresh"
            )
        if stored is not None and int(stored) > FORMAT:
            raise CrawlError(
                f"{self._where} was begun with a newer version of Gossamer, in a format that this "
                "one does not know: go on with that version, or start over with --fresh"
            )

    def require(self, link: BlockingLink) -> None:
        """Refuse a crawl in another format, and one that is not there."""
        self.check(link)
        (stored,) = link.ask(("GET", self._keys.format))
        if stored is None:
            raise CrawlError(
                f"the store has no crawl with the name {self._crawl}: 'gossamer crawls' lists "
                "those there"
            )

    def lay_down(self, link: BlockingLink) -> None:
        """Store the format, unless another one is there, which is refused."""
        self.check(link)
        link.ask(("SET", self._keys.format, FORMAT, "NX"))

    def delete(self, link: BlockingLink, keep_lead: Callable[[], None]) -> None:
        """Delete everything but the lead, in small steps that hold up nobody else."""
        keys, cursor = self._keys, b"0"
        kept = {keys.lead, keys.commit}
        pattern = keys.everything + b"*"
        while True:
            ((cursor, found),) = link.ask(
                ("SCAN", cursor, "MATCH", pattern, "COUNT", DELETED_AT_ONCE)
            )
            gone = [name for name in found if name not in kept]
            if gone:
                link.ask(("UNLINK", *gone))
            keep_lead()
            if cursor == b"0":
                return
