"""The plan of a crawl: what its options mean for its parts, the same in each of its processes."""

from gossamer.plan.clock import clock_at, steady_clock
from gossamer.plan.plan import Plan

__all__ = ["Plan", "clock_at", "steady_clock"]
