"""The evaluation of near duplicates, made small: its targets are met, and it can fail."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / ".cache" / "docs" / "site"

pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="needs the documentation site")


def evaluate(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )


SMALL = """
import sys
from benchmarks.eval import corpus, duplicates, own_contents
corpus.MAX_PAGES = own_contents.MAX_SITE_PAGES = {pages}
own_contents.COPIED = 4
{change}
sys.exit(duplicates.main(["--pairs", "{pairs}", "--only", "site"]))
"""


@pytest.mark.req("B8")
def test_edited_copies_of_real_pages_are_told_apart_at_the_threshold() -> None:
    done = evaluate(SMALL.format(change="", pages=100, pairs=800))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all targets met" in done.stdout


def test_a_missed_target_fails_the_evaluation() -> None:
    change = """
duplicates.MIN_RECALL, duplicates.MAX_FALSE, duplicates.MAX_ERROR = 1.1, -1, 0.0001
duplicates.MAX_NEAR, own_contents.MAX_WRONG, own_contents.MIN_CAUGHT = -1, -1, 1.1
"""
    done = evaluate(SMALL.format(change=change, pages=100, pairs=100))
    assert done.returncode == 1, done.stdout + done.stderr
    for name in ("recall", "false", "mean error", "dropped at", "0 of 100 pages", "100.0% of"):
        assert f"MISSED: {name}" in done.stdout
