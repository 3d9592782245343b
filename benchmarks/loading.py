"""What it costs to open a crawl: CPU and memory of loading all that the frontier has in memory.

Run by hand: `PYTHONPATH=.:tools python benchmarks/loading.py [URLS] [file|redis]`. URLs of which a
third have pages are written straight into rows, and then loaded by another process, once from
blocks and once without them.
"""

import gc
import os
import subprocess
import sys
import time
from array import array
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import xxhash
from benchmarks.own_redis import own_redis

from gossamer.frontier.memory import CrawlMemory
from gossamer.model import HostKey, Outcome, Url
from gossamer.stores.columns import (
    PAGE_COLUMNS,
    URL_COLUMNS,
    blocks_of,
    pack_block,
    page_values,
    url_values,
)
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Changes, HostRow, KnownPage, KnownUrl, PageRow, Rows, UrlRow
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.stores.url_record import UrlState

HOSTS = 500
AT_ONCE = 49_152
"""How many URLs are written together: a third of them fills blocks as well."""
NOW = 1.7e9


def digest(number: int) -> bytes:
    return xxhash.xxh3_128_digest(b"%d" % number)


def url(number: int) -> tuple[UrlRow, KnownUrl]:
    """Return a URL; the third ones have pages, and others wait."""
    host, page = number % HOSTS + 1, number // 3 if number % 3 == 0 else None
    row = UrlRow(
        number,
        Url(f"https://host-{host}.test/some/path/of/a/page-{number}.html"),
        digest(number),
        host,
        UrlState.DONE if page else UrlState.QUEUED,
        number % 7,
        0,
        number // 3,
        NOW,
    )
    row.score, row.queue = number % 1000 / 10, number % 10
    if page:
        row.outcome, row.page, row.finished_at, row.attempts = Outcome.FETCHED, page, NOW, 1
    known = KnownUrl(
        number, row.key, host, row.state, row.depth, 0, page, row.finished_at, False, False,
        row.queue, None,
    )  # fmt: skip
    return row, known


def write(rows: Rows, urls: int) -> None:
    """Write a crawl; it has a little more, so that the last blocks are full."""
    hosts = Changes()
    for host in range(1, HOSTS + 1):
        name = f"host-{host}.test"
        hosts.hosts[host] = HostRow(id=host, key=HostKey(name), domain=name, urls=urls // HOSTS)
    put(rows, hosts)
    for first in range(0, urls, AT_ONCE):
        changes, url_columns, page_columns = Changes(), list[Any](), list[Any]()
        numbers = range(first, first + AT_ONCE)
        for number in numbers:
            row, known = url(number)
            url_columns.append(url_values(known))
            if number:
                changes.urls[number] = row
            if number % 3 == 0:
                page = PageRow(number // 3, number, 4000, row.key, b"", NOW, row.depth)
                known_page = KnownPage(page.number, number, row.key, NOW, row.depth)
                page_columns.append(page_values(known_page))
                if number:
                    changes.pages[page.number] = page
        changes.url_blocks = blocks(URL_COLUMNS[:-1], url_columns, first)
        changes.page_blocks = blocks(PAGE_COLUMNS, page_columns, first // 3)
        put(rows, changes)


def blocks(types: str, values: list[Any], first: int) -> dict[int, bytes]:
    """Return the blocks of these numbers, of which the first begins one."""
    columns = [
        array(kind, column) for kind, column in zip(types, zip(*values, strict=True), strict=False)
    ]
    return {
        number: pack_block([column[at.start - first : at.stop - first] for column in columns])
        for number, at in blocks_of(range(first, first + len(values))).items()
    }


def put(rows: Rows, changes: Changes) -> None:
    finish = rows.write(changes)
    if finish is not None:
        finish()


def open_rows(where: str) -> Rows:
    if not where.startswith("redis"):
        return SqliteRows(Path(where))
    rows = RedisRows(parse_address(where), "bench")
    rows.take_lead()
    return rows


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def load(where: str, *, with_times: bool) -> None:
    """Print what loading costs; the blocks are of a crawl without times."""
    gc.set_threshold(20_000, 20, 20)
    rows, before = open_rows(where), resident_bytes()
    cpu, clock = time.process_time(), time.monotonic()
    memory = CrawlMemory(rows, with_times=with_times)
    cpu, clock = time.process_time() - cpu, time.monotonic() - clock
    urls = memory.urls.last_id
    size = (resident_bytes() - before) / urls
    how = "from rows" if with_times else "from blocks"
    print(
        f"{urls:,} URLs, {memory.pages.count:,} pages {how}: {cpu:.1f} s of CPU, {clock:.1f} s, "
        f"{size:.0f} bytes a URL",
        flush=True,
    )
    rows.close()


def measure(where: str, urls: int) -> None:
    rows = open_rows(where)
    write(rows, urls)
    rows.close()
    for how in ("blocks", "rows"):
        subprocess.run([sys.executable, __file__, "load", where, how], check=True)


def main() -> None:
    """Measure."""
    if sys.argv[1:2] == ["load"]:
        load(sys.argv[2], with_times=sys.argv[3] == "rows")
        return
    urls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    kinds = sys.argv[2:] or ["file", "redis"]
    if "file" in kinds:
        with TemporaryDirectory() as folder:
            print("file", flush=True)
            measure(f"{folder}/crawl.sqlite", urls)
    if "redis" in kinds:
        with own_redis() as redis_url:
            print("Redis", flush=True)
            measure(redis_url, urls)


if __name__ == "__main__":
    main()
