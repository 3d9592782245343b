"""The output of a crawl: progress, messages and summary, for people or for programs.

A crawl reports to an `Observer` (of `coordinator`). `open_observer` chooses one: a live display in
a terminal (`live`), plain lines elsewhere (`lines`, on request with a line for every step), or one
JSON object per line (`jsonlog`); `summary` is the end of each. Numbers are formatted by
`formatting`, counters by `status`. Text of unknown origin is escaped, and no output can stop the
crawl, not even a reader that goes away (`outlet`).
"""

from gossamer.display.lines import open_observer, progress_line
from gossamer.display.outlet import Outlet, printable
from gossamer.display.summary import summary_text

__all__ = ["Outlet", "open_observer", "printable", "progress_line", "summary_text"]
