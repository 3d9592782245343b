"""The kinds of values that an option of a crawl and a rule for a host share, declared once."""

from typing import Literal, get_args

from gossamer.config.delay import delay
from gossamer.config.kinds import choice
from gossamer.config.quantities import integer, size

ScopeName = Literal["host", "domain", "prefix", "any"]

HOUR_S = 3600.0
MANY = 10**12

SCOPE = choice(*get_args(ScopeName))
DEPTH = integer(0, 1_000_000)
DELAY = delay()
HOST_CONNECTIONS = integer(1, 1000)
MAX_PAGES = integer(1, MANY)
MAX_BYTES = size(1, 10**15)
