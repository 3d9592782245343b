"""What to fetch next.

A URL is added once; `BreadthFirst` hands it out in the order of its depth, so that the depth a page
is visited at is the length of its shortest path from the seed.
"""

from gossamer.frontier.breadth import BreadthFirst, Task

__all__ = ["BreadthFirst", "Task"]
