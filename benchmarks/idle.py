"""How much of the machine others leave: a comparison of speeds means nothing beside their work."""

import time
from pathlib import Path

LOOK_S = 3.0
QUIET = 0.85
"""How idle a machine must be before a comparison is judged."""


def idle_share(look_s: float = LOOK_S) -> float:
    """Return which part of the machine's time nobody used just now; 1 where there is no /proc."""
    before = _times()
    time.sleep(look_s)
    after = _times()
    if before is None or after is None or after[0] == before[0]:
        return 1.0
    return (after[1] - before[1]) / (after[0] - before[0])


def _times() -> tuple[int, int] | None:
    """Return the ticks of all cores so far, and the idle ones among them."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
    except OSError:
        return None
    ticks = [int(word) for word in first.split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]
