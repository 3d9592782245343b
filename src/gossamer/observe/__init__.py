"""The output of a crawl: progress, messages and summary, for people or for programs.

A crawl reports to an `Observer` (of `coordinator`). `open_observer` chooses one: a live display in
a terminal (`live`, `panel`), plain lines elsewhere (`lines`, on request with a line for every step,
`classic`), or one JSON object per line (`jsonlog`); `summary` is the end of each. Text of unknown
origin is escaped (`escape`), and no output can stop the crawl, not even a reader that goes away
(`outlet`).
"""

from gossamer.observe.choose import DisplayOptions, open_observer
from gossamer.observe.classic import progress_line
from gossamer.observe.escape import printable
from gossamer.observe.lines import ErrorsOnly, PlainLines
from gossamer.observe.outlet import Outlet
from gossamer.observe.summary import summary_text

__all__ = [
    "DisplayOptions",
    "ErrorsOnly",
    "Outlet",
    "PlainLines",
    "open_observer",
    "printable",
    "progress_line",
    "summary_text",
]
