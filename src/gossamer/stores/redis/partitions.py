"""Which partition of a divided crawl a URL belongs to; pure.

All URLs of a registered domain are in one partition: its hosts rest together, one worker serves
it, and most links of a page stay where they were found.
"""

from collections.abc import Sequence

import xxhash

from gossamer.errors import UsageError
from gossamer.stores.contract import Link

MOST = 256
"""More partitions than this only cost: every worker asks all of them."""


def partition_of(domain: str, partitions: int) -> int:
    """Return the partition of a domain, the same on every machine."""
    return xxhash.xxh64_intdigest(domain.encode()) % partitions


def partition_of_id(url_id: int, partitions: int) -> int:
    """Return the partition in which a URL got its id."""
    return url_id % partitions


def sorted_out(links: Sequence[Link], partitions: int) -> dict[int, list[Link]]:
    """Return the links of each partition, in their order."""
    found: dict[int, list[Link]] = {}
    for link in links:
        found.setdefault(partition_of(link.domain, partitions), []).append(link)
    return found


def check_partitions(partitions: int) -> None:
    """Raise a UsageError if a crawl cannot be divided so."""
    if not 1 <= partitions <= MOST:
        raise UsageError(f"a crawl has 1 to {MOST} partitions, and not {partitions}")
