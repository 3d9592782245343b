"""A crawl of the simulated web by the command, watched from outside, and what it left behind."""

import json
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.soak.measure import Sample, measure
from benchmarks.soak.stores import SoakStore

from gossamer.testing.simulator import SimulatedWeb

GOSSAMER = str(Path(sys.executable).with_name("gossamer"))
EVERY_S = 2.0
PATIENCE_S = 120.0
"""How long a crawl may take to end."""


class Watched(msgspec.Struct, frozen=True):
    """A crawl that was watched and then told to end."""

    samples: Sequence[Sample]
    exit_code: int
    stopped_at: float


class Urls(msgspec.Struct, frozen=True):
    """How the URLs of a crawl stand after it."""

    without_outcome: int
    """Of those that are finished."""
    finished_at: dict[str, list[float]]
    """By host."""
    unfinished: set[str]
    """Hosts with URLs that still wait."""


@contextmanager
def serve(web: SimulatedWeb) -> Iterator[int]:
    """Serve the web in a process of its own; give its port."""
    shares = [word for one, share in web.faults.items() for word in ("--fault", f"{one}={share}")]
    words = ["web", "--hosts", web.hosts, "--pages", web.pages, *shares]
    with subprocess.Popen(
        [GOSSAMER, *map(str, words)], stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"localhost:(\d+)/", server.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            server.terminate()


def crawl(folder: Path, store: SoakStore, options: Sequence[object], minutes: float) -> Watched:
    """Crawl for some time, measure every process meanwhile, and end it."""
    words = [GOSSAMER, "crawl", *store.options, *options]
    begun, samples = time.monotonic(), []
    with subprocess.Popen([*map(str, words)], cwd=folder, stderr=sys.stderr) as process:
        while process.poll() is None and time.monotonic() - begun < 60 * minutes:
            time.sleep(EVERY_S)
            processes = measure(process.pid, store.server)
            samples.append(Sample(time.monotonic() - begun, processes, store.data_mb()))
        stopped_at = time.time()
        process.send_signal(signal.SIGINT)
        return Watched(samples, process.wait(timeout=PATIENCE_S), stopped_at)


def seeds_and_options(web: SimulatedWeb, port: int, folder: Path) -> list[object]:
    """Return what a crawl of all hosts of a web is told."""
    seeds = folder / "seeds.txt"
    seeds.write_text(
        "".join(f"http://{label}.localhost:{port}/\n" for label in web.labels[: web.hosts])
    )
    words: list[object] = ["--seeds", seeds, "--scope", "any", "--sitemaps", "auto"]
    words += ["--max-pages", 10_000_000, "--max-bytes", "100GB"]
    return [*words, "--allow-network", f"127.0.0.1:{port}", "--allow-network", f"[::1]:{port}"]


def read(store: SoakStore, command: str) -> dict[str, Any]:
    """Return what a command that reads the crawl finds."""
    words = [GOSSAMER, command, *store.options, "--json"]
    found: dict[str, Any] = json.loads(
        subprocess.run(words, stdout=subprocess.PIPE, check=False).stdout
    )
    return found


def read_urls(store: SoakStore) -> Urls:
    """Return how all URLs of the crawl stand."""
    without_outcome, finished_at = 0, defaultdict[str, list[float]](list)
    unfinished: set[str] = set()
    words = [GOSSAMER, "pages", "--all", *store.options, "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as listing:
        assert listing.stdout is not None
        for line in listing.stdout:
            row = json.loads(line)
            if row["finished_at"] is None:
                unfinished.add(row["host"])
            else:
                without_outcome += row["outcome"] is None
                finished_at[row["host"]].append(row["finished_at"])
    return Urls(without_outcome, finished_at, unfinished)
