"""The output of a crawl: progress, messages and summary, for people or for programs.

A crawl reports to an `Observer` (of `coordinator`). `open_observer` chooses one: a live display in
a terminal (`live`, `panel`), plain lines elsewhere (`lines`, on request with a line for every step,
`classic`), or one JSON object per line (`jsonlog`); `summary` is the end of each. Text of unknown
origin is escaped (`escape`), and no output can stop the crawl, not even a reader that goes away
(`outlet`).
"""

from gossamer.display.lines import (
    DisplayOptions,
    ErrorsOnly,
    PlainLines,
    open_observer,
    progress_line,
)
from gossamer.display.outlet import Outlet, printable
from gossamer.display.summary import summary_text

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
