"""The path of one page: pace, robots, download, parse, links.

`PacedFetch` is the only way to the network here: it keeps every host's pace, for pages, redirects
and robots.txt alike. `Visitor` takes one URL along the whole path and says in a `Visit` what came
of it.
"""

from gossamer.worker.paced import PacedFetch
from gossamer.worker.visit import Visit, Visitor

__all__ = ["PacedFetch", "Visit", "Visitor"]
