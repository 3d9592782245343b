"""What the rows of a crawl cost in Redis: CPU of both sides for each page, and for loading.

python -m benchmarks.redis_rows [URLS]
"""

import secrets
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from redis_servers import RedisServer

from gossamer.model import HostKey, Outcome, Url
from gossamer.model.page import PageAttributes, pack_attributes
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import (
    Changes,
    HostRow,
    PageRow,
    ResultRow,
    SketchRow,
    UrlChange,
    UrlRow,
    pack_links,
)
from gossamer.stores.url_record import Attempt, UrlState

URLS_A_PAGE = 3
HOSTS = 50
BODY = secrets.token_bytes(4000)
SAMPLE = secrets.token_bytes(1000)
ATTRIBUTES = pack_attributes(
    PageAttributes(content_type="text/html", encoding="utf-8", title="A title")
)


class DrawnChanges:
    """A crawl that finishes one URL after the other, and finds three with each."""

    def __init__(self) -> None:
        self.pages = 0
        self.urls = 0

    def changes(self, pages: int) -> Changes:
        """Return what so many pages change."""
        changes = Changes()
        for _ in range(pages):
            self.pages += 1
            host = self.pages % HOSTS + 1
            changes.hosts[host] = HostRow(
                id=host, key=HostKey(f"https://h{host}"), domain=f"h{host}"
            )
            for _ in range(URLS_A_PAGE):
                self.urls += 1
                changes.urls[self.urls] = self._url(self.urls)
            self._finish(self.pages, changes)
        changes.metadata["counters"] = b"%d" % self.pages
        return changes

    def _url(self, url_id: int) -> UrlRow:
        host = url_id % HOSTS + 1
        url = Url(f"https://h{host}/some/path/of/a/page-{url_id}.html")
        key = url_id.to_bytes(8, "big") * 2
        row = UrlRow(url_id, url, key, host, UrlState.QUEUED, 3, 0, url_id // 3, 1.7e9)
        row.score, row.queue = url_id % 1000 / 10, url_id % 10
        return row

    def _finish(self, number: int, changes: Changes) -> None:
        at = 1.7e9 + number
        row = self._url(number)
        row.state, row.outcome, row.page, row.finished_at = UrlState.DONE, "fetched", number, at
        row.attempts = 1
        changes.urls[number] = row
        attempt = Attempt(at=at, outcome=Outcome.FETCHED, cause=None, detail="", status=200)
        changes.attempts[number] = [attempt]
        changes.links[number] = pack_links(range(number, number + 10))
        digest = secrets.token_bytes(16)
        page = PageRow(number, number, 4000, digest, ATTRIBUTES, at, 3)
        changes.pages[number] = page
        changes.contents[number] = (at, BODY)
        changes.sketches[number] = SketchRow(number, at, SAMPLE[:160], SAMPLE, None)
        changes.results.append(ResultRow(number, number, number, at, None, BODY[:500]))
        if number > 100:
            changes.url_changes[number // 2] = UrlChange(2, 0, 1)


def measure(server: RedisServer, rows: RedisRows, crawl: DrawnChanges, pages: int) -> str:
    """Return what batches of so many pages cost."""
    batches = max(5, 2000 // pages)
    made = [crawl.changes(pages) for _ in range(batches)]
    with server.client as client:

        def used() -> float:
            told = client.info("cpu")
            return float(told["used_cpu_user"]) + float(told["used_cpu_sys"])

        redis_before, packing, sending = used(), 0.0, 0.0
        for changes in made:
            for one in changes.urls:
                changes.url_changes.pop(one, None)
            began = time.process_time()
            send = rows.write(changes)
            packed = time.process_time()
            assert send is not None
            send()
            packing += packed - began
            sending += time.process_time() - packed
        redis = used() - redis_before
    figures = [1e6 * spent / batches / pages for spent in (packing, sending, redis)]
    return "{:5d} pages a batch: write {:4.0f}, send {:4.0f}, Redis {:4.0f} µs a page".format(
        pages, *figures
    )


def fill(rows: RedisRows, crawl: DrawnChanges, urls: int) -> None:
    """Write URLs of which a third have pages, without contents."""
    while crawl.urls < urls:
        changes = crawl.changes(1000)
        changes.contents.clear()
        changes.sketches.clear()
        changes.url_changes.clear()
        send = rows.write(changes)
        assert send is not None
        send()


def main() -> None:
    """Print the figures."""
    urls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder, closing(RedisServer(Path(folder))) as server:
        server.start()
        address = parse_address(server.url)
        rows = RedisRows(address, "bench")
        rows.take_lead()
        crawl = DrawnChanges()
        for pages in (1, 10, 100, 1000):
            print(measure(server, rows, crawl, pages))
        fill(rows, crawl, urls)
        rows.lead.resign()
        rows.close()
        rows = RedisRows(address, "bench")
        rows.take_lead()
        with server.client as client:
            memory = client.info("memory")["used_memory"]
        print(f"{crawl.urls} URLs, {crawl.pages} pages: {memory / crawl.urls:.0f} bytes a URL")
        for name in ("known_urls", "known_pages", "hosts"):
            cpu, clock = time.process_time(), time.monotonic()
            count = sum(1 for _ in getattr(rows, name)())
            spent = time.process_time() - cpu, time.monotonic() - clock
            print("{}: {} in {:.2f} s of CPU, {:.2f} s".format(name, count, *spent))
        ids = [*range(1, crawl.urls, crawl.urls // 2000)]
        cpu = time.process_time()
        for one in ids:
            rows.read_queue(one % HOSTS + 1, one % 10, (50.0, one), 64)
        print(f"read_queue: {1e6 * (time.process_time() - cpu) / len(ids):.0f} µs of CPU")
        rows.lead.resign()
        rows.close()


if __name__ == "__main__":
    main()
