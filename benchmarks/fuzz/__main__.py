"""`make fuzz`: random input for everything that reads what the web sends.

Each target gets its time: first from hypothesis, which shrinks what it finds, then from atheris,
which follows the branches of the code, where it is installed. What is found is printed and fails
the run; it becomes a case in test_targets.py.
"""

import argparse
import subprocess
import sys
import time
from importlib.util import find_spec
from itertools import count

from benchmarks.fuzz.targets import TARGETS, WORDS
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

ROUND = 200
"""Examples with the same seed; the time is looked at in between."""
MAX_INPUT = 4_096


def main() -> int:
    """Fuzz the targets; return how many of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; by default all")
    wishes = parser.parse_args()
    has_atheris = find_spec("atheris") is not None
    share_s = wishes.seconds / 2 if has_atheris else wishes.seconds
    failed = 0
    for name in wishes.targets or TARGETS:
        examples = drawn(name, share_s, wishes.seed)
        print(f"{name}: {examples:,} examples of hypothesis", flush=True)
        if has_atheris:
            failed += not guided(name, share_s)
    return failed


def inputs(name: str) -> st.SearchStrategy[bytes]:
    """Return what a target is tried with: its words, and bytes between them."""
    piece = st.one_of(st.sampled_from(WORDS[name]), st.binary(max_size=8))
    return st.lists(piece, max_size=40).map(b"".join)


def drawn(name: str, for_s: float, first: int) -> int:
    """Try examples of hypothesis for a while; return how many. What it finds is raised, shrunk."""
    until, tried = time.monotonic() + for_s, 0
    for number in count(first):

        @seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
        )
        @given(inputs(name))
        def attempt(data: bytes) -> None:
            TARGETS[name](data)

        attempt()
        tried += ROUND
        if time.monotonic() >= until:
            break
    return tried


def guided(name: str, for_s: float) -> bool:
    """Fuzz with atheris in a process of its own; return whether nothing was found."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.fuzz.guided",
        name,
        f"-max_total_time={int(for_s) or 1}",
    ]
    words += [f"-max_len={MAX_INPUT}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    tail = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line]
    if done.returncode:
        print(done.stderr[-4_000:])
    print(f"{name}: {' '.join(tail).split()[-1] if tail else 0} runs of atheris", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
