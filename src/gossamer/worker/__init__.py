"""The worker of a crawl: what it does with one page, and the loop around that.

`Worker` leases tasks and has many of them in progress; `Pipeline` takes one task along the whole
path: robots, download, parse, duplicate?, modules, links, settle.
"""

from gossamer.worker.links import LinkFilter
from gossamer.worker.loop import Worker
from gossamer.worker.pipeline import Modules, Pipeline, WorkerContext
from gossamer.worker.robots import PoliteRobots

__all__ = [
    "LinkFilter",
    "Modules",
    "Pipeline",
    "PoliteRobots",
    "Worker",
    "WorkerContext",
]
