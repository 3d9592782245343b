"""What a worker does: the path of one page through the rooms above, and the loop around it.

`Worker` leases tasks and has many of them in progress; `Pipeline` takes one task along the whole
path: robots, download, parse, duplicate?, modules, links, settle. `Visitor` takes a single URL
along the same path without a store, for looking at one page.
"""

from gossamer.worker.links import LinkFilter
from gossamer.worker.loop import Worker
from gossamer.worker.paced import PacedFetch
from gossamer.worker.parser_pool import ParserPool
from gossamer.worker.pipeline import Modules, Pipeline, WorkerContext
from gossamer.worker.robots import PoliteRobots
from gossamer.worker.settlements import MAX_REDIRECTS
from gossamer.worker.visit import Visit, Visitor

__all__ = [
    "MAX_REDIRECTS",
    "LinkFilter",
    "Modules",
    "PacedFetch",
    "ParserPool",
    "Pipeline",
    "PoliteRobots",
    "Visit",
    "Visitor",
    "Worker",
    "WorkerContext",
]
