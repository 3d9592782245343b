"""Where the benchmark keeps what it fetches, and what it writes."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "peers"
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"
PAGE = DOCS / "performance.md"
