"""Where the benchmark keeps what it fetches, and what it writes."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache" / "peers"
RESULTS = ROOT / "tests" / "perf" / "results"
DOCS = ROOT / "docs"
PAGE = DOCS / "performance.md"
