"""What a worker does: the path of one page through the rooms above, and the loop around it.

`Worker` leases tasks and has many of them in work; `Pipeline` takes one task along the whole path:
robots, download, parse, twin?, modules, links, settle. `Visitor` takes a single URL along the same
path without a store, for looking at one page.
"""

from gossamer.worker.analysts import Analysts
from gossamer.worker.links import LinkFiler
from gossamer.worker.loop import Worker
from gossamer.worker.paced import PacedFetch
from gossamer.worker.pipeline import Kit, Modules, Pipeline
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.settlements import MAX_REDIRECTS
from gossamer.worker.visit import Visit, Visitor

__all__ = [
    "MAX_REDIRECTS",
    "Analysts",
    "Kit",
    "LinkFiler",
    "Modules",
    "PacedFetch",
    "Pipeline",
    "PoliteRobots",
    "Visit",
    "Visitor",
    "Worker",
]
