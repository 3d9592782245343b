"""Crawl one real documentation site with Gossamer and with Scrapy, in turn, and compare.

Both get the same pages from the same server, over loopback, in the same minutes. The time is that
of the whole command, with its start; CPU seconds and memory are those of the command and all its
children, without the server. Each runs five times and counts with its fastest run: what else the
machine does can only make one slower.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from memory_watch import MemoryWatch

from gossamer.download import Accept, Client, FetchOptions
from gossamer.model import Url
from gossamer.policy import AddressPolicy

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SITE = Path(os.environ.get("GOSSAMER_DOCS") or ROOT / ".cache" / "docs" / "site")
PEER_VENV = ROOT / ".cache" / "bench-venv"
PEER = "scrapy==2.19.0"

RUNS = 5
AT_ONCE = 16
WANTED_RATIO = 8

COMMAND = str(Path(sys.executable).with_name("gossamer"))
GOSSAMER = (
    *(COMMAND, "crawl", "{url}", "--dir", "{folder}/crawl", "--quiet"),
    *("--delay", "0s", "--host-connections", str(AT_ONCE)),
    *("--max-pages", "100000", "--max-bytes", "1GB"),
)
SAME_WORK = (*GOSSAMER, "--similarity", "off")
"""Scrapy does not compare pages with each other."""
GOSSAMER_STATUS = (COMMAND, "status", "--dir", "{folder}/crawl", "--json")
SCRAPY = (
    *(str(PEER_VENV / "bin" / "python"), str(HERE / "peer_scrapy.py")),
    *("{url}", "{folder}/items.jsonl"),
)


# Installed packages bring their bytecode; a checkout must be allowed to write its own.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


@dataclass(frozen=True)
class Crawler:
    """One who crawls: its command, and how to count the pages that it delivered."""

    name: str
    command: Sequence[str]
    count_pages: Callable[[Path], int]


@dataclass(frozen=True)
class CrawlRun:
    """What one crawl took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    pages: int
    asked: frozenset[str]

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.wall_s

    @property
    def cpu_s_per_1000(self) -> float:
        return self.cpu_s / self.pages * 1000


class Server:
    """The server's process, as its owner sees it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions, self._answers = process.stdin, process.stdout
        self.port = int(self._answers.readline())
        self.url = f"http://127.0.0.1:{self.port}/index.html"

    def paths_since_last(self) -> list[str]:
        print(file=self._questions, flush=True)
        paths: list[str] = json.loads(self._answers.readline())
        return paths


def measure(crawler: Crawler, server: Server) -> CrawlRun:
    """Crawl the site once, from nothing."""
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        started = time.perf_counter()
        command = _filled(crawler.command, server.url, folder)
        process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT)
        memory = MemoryWatch(process.pid)
        memory.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.stop()
        if process.returncode:
            sys.exit(f"{crawler.name} failed with exit code {process.returncode}")
        largest = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return CrawlRun(
            wall_s=wall_s,
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_bytes=max(memory.peak_bytes, largest),
            pages=crawler.count_pages(folder),
            asked=frozenset(server.paths_since_last()) - {"/robots.txt"},
        )


def _filled(command: Sequence[str], url: str, folder: Path) -> list[str]:
    return [word.format(url=url, folder=folder) for word in command]


def count_gossamer(folder: Path) -> int:
    status = subprocess.run(
        _filled(GOSSAMER_STATUS, "", folder), capture_output=True, text=True, check=True
    )
    return int(json.loads(status.stdout)["pages"])


def count_scrapy(folder: Path) -> int:
    # Each once: Scrapy does not count its first request as seen, and fetches that page again.
    items = (folder / "items.jsonl").read_text().splitlines()
    return len({json.loads(item)["url"] for item in items})


def install_peer() -> None:
    """Make Scrapy's own environment, the first time; nothing of it enters ours."""
    ready = PEER_VENV / f".{PEER}"
    if ready.exists():
        return
    print(f"installing {PEER} in {PEER_VENV.relative_to(ROOT)}, once", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", PEER_VENV], check=True)
    pip = PEER_VENV / "bin" / "pip"
    subprocess.run([pip, "install", "-qq", "--disable-pip-version-check", PEER], check=True)
    ready.touch()


@contextmanager
def serve(delay_ms: int = 0) -> Iterator[Server]:
    command = [sys.executable, str(HERE / "serve_docs.py"), str(SITE), str(delay_ms)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield Server(process)


async def fetch_all(server: Server, names: Sequence[str]) -> float:
    """Return the requests per second of a client that does nothing but fetch."""
    addresses = AddressPolicy.parse([f"127.0.0.1:{server.port}"])
    line = iter(names)

    async with Client(FetchOptions(), addresses) as client:

        async def fetch_some() -> None:
            for name in line:
                await client.fetch(Url(urljoin(server.url, name)), Accept.PAGE)

        started = time.perf_counter()
        await asyncio.gather(*(fetch_some() for _ in range(AT_ONCE)))
        return len(names) / (time.perf_counter() - started)


def server_ceiling(server: Server) -> float:
    """Return what the server can do, and leave it warm: every page read from the disk once."""
    names = [path.name for path in SITE.glob("*.html")]
    rates = [asyncio.run(fetch_all(server, names)) for _ in range(RUNS)]
    server.paths_since_last()
    return max(rates)


def compare(crawlers: Sequence[Crawler], server: Server) -> dict[str, CrawlRun]:
    """Return the fastest run of each; they take turns, so that both meet the same weather."""
    best: dict[str, CrawlRun] = {}
    for _ in range(RUNS):
        for crawler in crawlers:
            run = measure(crawler, server)
            print(f"  {crawler.name}: {run.pages:,} pages in {run.wall_s:.2f} s", flush=True)
            if crawler.name not in best or run.wall_s < best[crawler.name].wall_s:
                best[crawler.name] = run
    return best


def show(best: dict[str, CrawlRun]) -> None:
    print(f"\n{'':30}{'pages':>8}{'pages/s':>10}{'CPU s per 1,000':>18}{'peak memory':>14}")
    for name, run in best.items():
        print(
            f"{name:30}{run.pages:>8,}{run.pages_per_s:>10,.0f}{run.cpu_s_per_1000:>18.2f}"
            f"{run.peak_bytes / 1e6:>11.0f} MB"
        )


def differences(ours: CrawlRun, theirs: CrawlRun) -> list[str]:
    """Say what is not the same in two crawls that should be."""
    found = []
    if ours.pages != theirs.pages:
        found.append(f"gossamer delivered {ours.pages:,} pages, scrapy {theirs.pages:,}")
    for name, only in (
        ("gossamer", ours.asked - theirs.asked),
        ("scrapy", theirs.asked - ours.asked),
    ):
        if only:
            found.append(f"{len(only)} asked for by {name} only, such as {sorted(only)[0]}")
    return found


def main() -> int:
    if not (SITE / "index.html").is_file():
        sys.exit(
            "no documentation site: run 'make bench', or set GOSSAMER_DOCS to a folder of HTML"
        )
    install_peer()
    crawlers = [
        Crawler("gossamer", SAME_WORK, count_gossamer),
        Crawler("gossamer, near duplicates too", GOSSAMER, count_gossamer),
        Crawler("scrapy", SCRAPY, count_scrapy),
    ]
    with serve() as server:
        print(f"the server alone: {server_ceiling(server):,.0f} requests/s", flush=True)
        best = compare(crawlers, server)
    show(best)
    theirs = best.pop("scrapy")
    unequal = [found for ours in best.values() for found in differences(ours, theirs)]
    for difference in unequal:
        print(f"NOT THE SAME CRAWL: {difference}")
    print()
    for name, ours in best.items():
        print(
            f"crawl: {name} {ours.pages_per_s:,.0f} pages/s, scrapy {theirs.pages_per_s:,.0f} "
            f"pages/s, {ours.pages_per_s / theirs.pages_per_s:.1f} x (wanted {WANTED_RATIO})"
        )
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())
