"""What is loaded of a crawl from blocks, against what is loaded when all rows are read."""

from collections.abc import Iterator
from typing import Any

from gossamer.frontier.memory import CrawlMemory
from gossamer.frontier.url_memory import IdTable
from gossamer.stores.rows import Rows


class WithoutBlocks:
    """The rows of a crawl, of which nothing is packed."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def __getattr__(self, name: str) -> object:
        return getattr(self._rows, name)

    def url_blocks(self) -> Iterator[tuple[int, bytes]]:
        return iter(())

    page_blocks = url_blocks

    def url_keys(self) -> Iterator[tuple[bytes, int]]:
        return ((url.key, url.id) for url in self._rows.known_urls())

    def page_digests(self) -> Iterator[tuple[bytes, int]]:
        return ((page.digest, page.number) for page in self._rows.known_pages())


def check_loading(rows: Rows, *, with_times: bool) -> None:
    """Compare everything that is in memory when a crawl is opened."""
    read: Any = WithoutBlocks(rows)
    for times in {with_times, True}:
        from_blocks = CrawlMemory(rows, with_times=times)
        from_rows = CrawlMemory(read, with_times=times)
        expected = everything(from_rows)
        for name, values in everything(from_blocks).items():
            assert values == expected[name], (name, values, expected[name])


def everything(memory: CrawlMemory) -> dict[str, Any]:
    urls, pages, waiting = memory.urls, memory.pages, memory.waiting
    return {
        "URLs": [*map(list, urls._arrays())],
        "keys": entries(urls.ids),
        "sitemaps": urls.sitemaps,
        "depths": urls.counts.depth_counts(),
        "unscored": list(waiting.unscored),
        "queues": sorted(waiting.counts()),
        "pages": [*map(list, pages._arrays())],
        "digests": entries(pages._digests),
        "page count": pages.count,
    }


def entries(table: IdTable) -> tuple[int, dict[int, list[bytes]]]:
    """Return the entries of each bucket, whose order matters only among equal hashes."""
    size = table._stride
    return len(table), {
        place: sorted(bytes(bucket[at : at + size]) for at in range(0, len(bucket), size))
        for place, bucket in enumerate(table._buckets)
        if bucket
    }
