"""`make soak`: a crawl of 2,000 hosts, half of them with faults, watched for ten minutes.

It fails if the crawl crashes, if its memory or open files grow after the warm-up, if honest hosts
lose their pace, if a URL was left in progress, or if the stored state is not sound. The picture
of memory over time goes to docs/soak.svg.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.soak.measure import Sample, sample, slope
from tests.soak.picture import draw

from gossamer.testing.simulator import FAULTS, SimulatedWeb

GOSSAMER = str(Path(sys.executable).with_name("gossamer"))
PICTURE = Path(__file__).parents[2] / "docs" / "soak.svg"
EVERY_S = 2.0
FAULTY_SHARE = 0.5
WARM_UP = 0.4
"""The share of the time after which memory must be flat."""
MAX_GROWTH_MB = 2.0
"""A minute."""
MAX_GROWTH_FILES = 10.0
LEAST_PACE = 0.9


def main() -> int:
    """Soak, report, and return how many promises did not hold."""
    wishes = read_arguments()
    faults = [
        name
        for name, fault in FAULTS.items()
        if name not in wishes.without and not fault.needs_certificates
    ]
    web = SimulatedWeb(
        hosts=wishes.hosts,
        pages=wishes.pages,
        faults=dict.fromkeys(faults, FAULTY_SHARE / len(faults)),
        domain="localhost",
    )
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as folder, serve(web) as port:
        samples, ended, stopped_at = crawl(web, port, Path(folder), wishes)
        status = read(folder, "status")
        verified = read(folder, "verify")
        pace = honest_pace(web, Path(folder), stopped_at, wishes)
    warm = [one for one in samples if one.at_s >= WARM_UP * samples[-1].at_s]
    memory = 60 * slope([(one.at_s, one.memory_mb) for one in warm])
    files = 60 * slope([(one.at_s, one.files) for one in warm])
    broken = [one["rule"] for one in verified["findings"] if one["broken"]]
    checks = {
        f"the crawl was ended by us, not by itself (exit code {ended})": ended == 130,
        f"{memory:+.2f} MB a minute after the warm-up": memory < MAX_GROWTH_MB,
        f"{files:+.1f} open files a minute": files < MAX_GROWTH_FILES,
        f"{status['in_progress']} URLs in progress at the end": status["in_progress"] == 0,
        f"honest hosts had {pace:.0%} of their pace": pace >= LEAST_PACE,
        f"verify: {', '.join(broken) or 'sound'}": verified["sound"],
    }
    peak = max(one.memory_mb for one in samples)
    print(f"{status['pages']:,} pages, {status['finished']:,} URLs, at most {peak:.0f} MB")
    for words, holds in checks.items():
        print(f"{'ok    ' if holds else 'FAILED'} {words}")
    title = f"Memory of a crawl of {wishes.hosts:,} hosts, half of them hostile"
    PICTURE.write_text(draw(samples, title, WARM_UP * samples[-1].at_s), encoding="utf-8")
    return len([one for one in checks.values() if not one])


def read_arguments() -> argparse.Namespace:
    """Return what is wished for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--pages", type=int, default=2_000, help="of the largest host")
    parser.add_argument("--delay", type=float, default=10, help="between requests to a host, in s")
    parser.add_argument("--without", nargs="*", default=[], help="faults to leave out")
    parser.add_argument("--option", action="append", default=[], help="another option of the crawl")
    return parser.parse_args()


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


def crawl(
    web: SimulatedWeb, port: int, folder: Path, wishes: argparse.Namespace
) -> tuple[Sequence[Sample], int, float]:
    """Crawl for the time that is wished for, and end it.

    Return the samples, the exit code, and when it was told to end.
    """
    seeds = folder / "seeds.txt"
    seeds.write_text(
        "".join(f"http://{label}.localhost:{port}/\n" for label in web.labels[: web.hosts])
    )
    words = ["crawl", "--seeds", seeds, "--dir", folder / "crawl", "--scope", "any"]
    words += ["--delay", f"{wishes.delay}s", "--max-pages", 10_000_000, "--max-bytes", "100GB"]
    words += ["--sitemaps", "auto", *wishes.option]
    words += ["--allow-network", f"127.0.0.1:{port}", "--allow-network", f"[::1]:{port}"]
    begun, samples = time.monotonic(), []
    with subprocess.Popen([GOSSAMER, *map(str, words)], stderr=sys.stderr) as process:
        while process.poll() is None and time.monotonic() - begun < 60 * wishes.minutes:
            time.sleep(EVERY_S)
            samples.append(sample(process.pid, time.monotonic() - begun))
        stopped_at = time.time()
        process.send_signal(signal.SIGINT)
        return samples, process.wait(timeout=120), stopped_at


def read(folder: str, command: str) -> dict[str, Any]:
    """Return what a command that reads the crawl finds."""
    words = [GOSSAMER, command, "--dir", f"{folder}/crawl", "--json"]
    found: dict[str, Any] = json.loads(
        subprocess.run(words, stdout=subprocess.PIPE, check=False).stdout
    )
    return found


def honest_pace(
    web: SimulatedWeb, folder: Path, stopped_at: float, wishes: argparse.Namespace
) -> float:
    """Return which share of the requests that were due honest hosts got, after the warm-up.

    Counted are hosts that have pages to the end.
    """
    words = [GOSSAMER, "pages", "--all", "--dir", str(folder / "crawl"), "--json"]
    asked: dict[str, list[float]] = {}
    left: set[str] = set()
    with subprocess.Popen(words, stdout=subprocess.PIPE) as listing:
        assert listing.stdout is not None
        for line in listing.stdout:
            row = json.loads(line)
            if row["finished_at"] is None:
                left.add(row["host"])
            else:
                asked.setdefault(row["host"], []).append(row["finished_at"])
    warm = stopped_at - (1 - WARM_UP) * 60 * wishes.minutes
    honest = {f"h{one}.localhost" for one in range(web.hosts) if not web.all_hosts.fault_of(one)}
    due = (stopped_at - warm) / wishes.delay
    counts = [sum(at >= warm for at in asked[host]) for host in honest & left & set(asked)]
    return sum(min(count / due, 1.0) for count in counts) / len(counts) if counts else 0.0


if __name__ == "__main__":
    sys.exit(main())
