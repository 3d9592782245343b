"""What a page costs a crawl in a file, from few known URLs to a million and from 1 host to 10,000.

    PYTHONPATH=tools python -m benchmarks.growth [--most 10000000] [--store]

Run by `make bench-growth`; it takes some minutes, and far longer up to ten million. Each point is a
process of its own that plays worker and frontier for a made-up web (growing_web.py), commits as
often as a crawl does, and is measured by its CPU time and its memory. Then another process opens
the store that was left.
"""

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from benchmarks.drawing import Drawing
from benchmarks.growing_web import QUEUES, RULES, GrowingCrawl
from benchmarks.peers.places import DOCS, PAGE, RESULTS
from benchmarks.peers.sites import manual_folder
from benchmarks.written_page import write_part

from gossamer.frontier.service import Frontier
from gossamer.stores.bodies import ContentPacker
from gossamer.stores.sqlite.rows import SqliteRows

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
USUAL_MOST = 1_000_000
URLS_OF_HOSTS = 20_000
HOSTS = (1, 10, 100, 1000, 10_000)
STRETCHES, PAGES = 4, 2_500
"""Pages: about as many as lie between two checkpoints, so that each stretch has its share."""
COMMIT_EVERY = 100
"""Pages: about what a fast crawl settles in a tenth of a second."""
MOST_GROWTH = 1.25
LONGEST_START_S = 5.0
"""CPU time for a million URLs, and in proportion for more."""


class GrowthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a page cost a store of one size."""

    known: int
    hosts: int
    page_us: float
    """CPU time, that of the best stretch: what else the machine does can only add to it."""
    resident_mb: float
    file_mb: float
    start_s: float
    """CPU time until the first URL of the stored crawl was leased."""


async def visit(path: Path, known: int, hosts: int) -> dict[str, float]:
    """Make the store, crawl some pages in it, and leave it there."""
    pack = ContentPacker().pack
    bodies = [pack(file.read_bytes()) for file in sorted(manual_folder().glob("*.html"))[:300]]
    store = Frontier(SqliteRows(path), RULES, time.time())
    crawl = GrowingCrawl(store, bodies, max(known // hosts, 1))
    while crawl.known < known:
        await crawl.discover(min(crawl.known + 10_000, known))
        await store.commit()
    costs = []
    for _ in range(STRETCHES):
        started, pages = time.process_time(), crawl.pages
        while crawl.pages < pages + PAGES:
            await crawl.visit(COMMIT_EVERY)
            await store.commit()
        costs.append((time.process_time() - started) / (crawl.pages - pages))
    resident = _resident_mb()
    await store.close()
    return {"page_us": 1e6 * min(costs), "resident_mb": resident}


async def start(path: Path) -> float:
    """Open the stored crawl; return the CPU time until the first URL was leased."""
    started = time.process_time()
    store = Frontier(SqliteRows(path), RULES, time.time())
    await store.join(0, time.time())
    await store.route([range(QUEUES)] * 16, time.time())
    leased = await store.lease(0, 1, time.time())
    took = time.process_time() - started
    assert leased.tasks
    await store.close()
    return took


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def point(known: int, hosts: int) -> GrowthPoint:
    """Measure one size, in processes of its own."""
    with tempfile.TemporaryDirectory(prefix="gossamer-growth-") as folder:
        path = Path(folder) / "crawl.sqlite"
        cost = _in_process("visit", str(path), str(known), str(hosts))
        file_mb = path.stat().st_size / 1e6
        start_s = _in_process("start", str(path))["start_s"]
    found = GrowthPoint(known=known, hosts=hosts, file_mb=file_mb, start_s=start_s, **cost)
    print(
        f"  {known:,} URLs, {hosts:,} hosts: {found.page_us:.0f} µs a page, "
        f"{found.resident_mb:.0f} MB, started again in {start_s:.2f} s of CPU",
        flush=True,
    )
    return found


def _in_process(*words: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", *words]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(told.stdout)
    return figures


def table(points: Sequence[GrowthPoint]) -> str:
    """Return the points as Markdown, each with its ratio to the first."""
    lines = [
        "| URLs known | hosts | CPU µs a page | | memory MB | | file MB | start, CPU s |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    first = points[0]
    for one in points:
        lines.append(
            f"| {one.known:,} | {one.hosts:,} | {one.page_us:.0f} | "
            f"{one.page_us / first.page_us:.2f} x | {one.resident_mb:.0f} | "
            f"{one.resident_mb / first.resident_mb:.2f} x | {one.file_mb:.0f} | {one.start_s:.2f} |"
        )
    return "\n".join(lines)


def verdicts(by_urls: Sequence[GrowthPoint], by_hosts: Sequence[GrowthPoint]) -> list[str]:
    """Say which targets hold."""
    found = []
    for what, points in (("URLs", by_urls), ("hosts", by_hosts)):
        growth = max(one.page_us for one in points) / points[0].page_us
        word = "holds" if growth <= MOST_GROWTH else "MISSED"
        found.append(f"more {what}: at most {growth:.2f} x, wanted {MOST_GROWTH} x: {word}")
    longest = max(one.start_s / max(one.known / 10**6, 1) for one in by_urls)
    word = "holds" if longest <= LONGEST_START_S else "MISSED"
    found.append(
        f"start: at most {longest:.2f} s of CPU for a million URLs, wanted "
        f"{LONGEST_START_S:.0f} s: {word}"
    )
    return found


def picture(by_urls: Sequence[GrowthPoint], by_hosts: Sequence[GrowthPoint]) -> str:
    """Return cost over the number of URLs, and over that of hosts."""
    drawing = Drawing(680, 260)
    axes = (("known URLs", by_urls, "known"), ("hosts", by_hosts, "hosts"))
    most = 100 * math.ceil(max(one.page_us for one in (*by_urls, *by_hosts)) * 1.15 / 100)
    for place, (what, points, field) in enumerate(axes):
        left, top, wide, high = 50 + 330 * place, 40, 260, 180
        drawing.text(left, 20, f"CPU µs of the store for a page, by {what}", kind="title")
        for us in range(0, most + 1, max(100, most // 500 * 100)):
            y = top + high * (1 - us / most)
            drawing.level(left, y, wide)
            drawing.text(left - 6, y + 4, str(us), anchor="end", kind="faint")
        sizes = [math.log10(getattr(one, field)) for one in points]
        places = [left + wide * (s - sizes[0]) / (sizes[-1] - sizes[0]) for s in sizes]
        heights = [top + high * (1 - one.page_us / most) for one in points]
        drawing.curve([*zip(places, heights, strict=True)], "a")
        for x, one in zip(places, points, strict=True):
            drawing.text(x, top + high + 18, _short(getattr(one, field)), anchor="middle")
    return drawing.svg()


def _short(number: int) -> str:
    if number >= 10**6:
        return f"{number // 10**6}M"
    return f"{number // 1000}k" if number >= 1000 else str(number)


def main() -> int:
    """Measure, print, and store what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=USUAL_MOST, help="how many URLs at most")
    parser.add_argument("--store", action="store_true", help="write JSON, picture and page")
    given = parser.parse_args()
    by_urls = [point(known, known // 200) for known in SIZES if known <= given.most]
    by_hosts = [point(URLS_OF_HOSTS, hosts) for hosts in HOSTS]
    said = verdicts(by_urls, by_hosts)
    text = "\n".join([table(by_urls), "", table(by_hosts), "", *(f"- {one}" for one in said)])
    print("\n" + text)
    if given.store:
        record = msgspec.json.encode({"by_urls": by_urls, "by_hosts": by_hosts})
        (RESULTS / "growth.json").write_bytes(msgspec.json.format(record) + b"\n")
        (DOCS / "growth.svg").write_text(picture(by_urls, by_hosts), encoding="utf-8")
        write_part(PAGE, "growth", text)
    return 1 if any("MISSED" in one for one in said) else 0


def run() -> int:
    """Be one of the processes of a point, or measure all."""
    match sys.argv[1:]:
        case ["visit", path, known, hosts]:
            print(json.dumps(asyncio.run(visit(Path(path), int(known), int(hosts)))))
            return 0
        case ["start", path]:
            print(json.dumps({"start_s": asyncio.run(start(Path(path)))}))
            return 0
    return main()


if __name__ == "__main__":
    sys.exit(run())
