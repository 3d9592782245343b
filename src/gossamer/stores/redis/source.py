"""A crawl in Redis of which everything is read, or that is deleted, without its lead."""

import logging
from types import TracebackType
from typing import Self

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.blocking_link import BlockingLink
from gossamer.stores.redis.row_format import RowFormat
from gossamer.stores.redis.row_keys import RowKeys

log = logging.getLogger("gossamer.store")


class CrawlSource:
    """A connection to the server that has a crawl in the format of this version."""

    def __init__(self, address: RedisAddress, crawl: str) -> None:
        self.where = f"the crawl {crawl} in {address}"
        self.keys = RowKeys(crawl)
        self._format = RowFormat(self.keys, crawl, self.where)
        self.link = BlockingLink(address, self.keys.prefix.decode(), log.warning)

    def __enter__(self) -> Self:
        """Connect; a CrawlError says why there is nothing to read."""
        try:
            self.link.open()
            self._format.require(self.link)
        except BaseException:
            self.link.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the connection."""
        self.link.close()
