"""One crawl, measured: pages by the server's log, time, CPU and memory of all its processes."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from benchmarks.peers.nginx import LoggedRequest, SiteServer
from benchmarks.peers.sites import CrawledSite
from memory_watch import MemoryWatch

# Installed packages bring their bytecode; a checkout must be allowed to write its own.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


@dataclass(frozen=True)
class Crawler:
    """One who crawls: its command for a site, and how many pages it delivered into a folder."""

    name: str
    command: Callable[[SiteServer, Path], Sequence[str]]
    delivered: Callable[[Path], int]
    is_ours: bool = False
    exit_codes: tuple[int, ...] = (0,)
    """Those of a crawl that went well."""


class CrawlRun(msgspec.Struct, frozen=True, kw_only=True):
    """What one crawl took."""

    pages: int
    """Different pages of the independent list that were fetched, by the server's log."""
    listed: int
    requests: int
    """All of them, with those for robots.txt, for pages that are missing, and repeated ones."""
    delivered: int
    """As the crawler sees it."""
    wall_s: float
    cpu_s: float
    peak_bytes: int
    is_cut: bool
    """Whether it was ended by the limit, and counts with what it had done until then."""
    progress: dict[int, float]
    """Seconds until so many pages were fetched, for some numbers of pages."""

    @property
    def pages_per_s(self) -> float:
        """Pages for each second of the whole command."""
        return self.pages / self.wall_s

    def rate_until(self, pages: int) -> float:
        """Return the pages a second of the first pages, about so many."""
        count = max(one for one in self.progress if one <= max(pages, 1))
        return count / self.progress[count]

    @property
    def cpu_ms(self) -> float:
        """CPU time for a page, of all processes."""
        return 1e3 * self.cpu_s / max(self.pages, 1)


def measure(crawler: Crawler, server: SiteServer, limit_s: float = 600) -> CrawlRun:
    """Crawl the site once, from nothing."""
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        server.requests()
        command = [*crawler.command(server, folder)]
        started, started_at = time.perf_counter(), time.time()
        with (folder / "errors.log").open("wb") as errors:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=ENVIRONMENT,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        cut = threading.Event()
        timer = threading.Timer(limit_s, _end, (process.pid, cut))
        memory = MemoryWatch(process.pid)
        timer.start()
        memory.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        memory.stop()
        if process.returncode not in crawler.exit_codes and not cut.is_set():
            print((folder / "errors.log").read_text(errors="replace")[-2000:], file=sys.stderr)
            raise SystemExit(f"{crawler.name} failed with exit code {process.returncode}")
        asked = server.requests()
        first = first_moments(asked, server.site)
        return CrawlRun(
            pages=len(first),
            listed=len(server.site.pages),
            requests=len(asked),
            delivered=-1 if cut.is_set() else crawler.delivered(folder),
            wall_s=wall_s,
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_bytes=max(memory.peak_bytes, usage.ru_maxrss * 1024),
            is_cut=cut.is_set(),
            progress={count: first[count - 1] - started_at for count in _some_numbers(len(first))},
        )


def first_moments(asked: Sequence[LoggedRequest], site: CrawledSite) -> list[float]:
    """Return when each page of the list was fetched for the first time, in order."""
    first: dict[str, float] = {}
    for one in asked:
        page = site.page_of(one.page)
        if one.status == 200 and page in site.pages:
            first.setdefault(page, one.at)
    return sorted(first.values())


def _some_numbers(most: int) -> list[int]:
    """Return numbers up to the most, each about a tenth larger than the one before."""
    found = {round(1.1**power) for power in range(150)}
    return [*sorted(one for one in found if one < most), *([most] if most else [])]


def _end(group: int, cut: threading.Event) -> None:
    """End a crawler with its processes: at first as Ctrl-C does, so that it reaps its own."""
    cut.set()
    os.killpg(group, signal.SIGINT)
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if not Path(f"/proc/{group}").exists():
            return
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
