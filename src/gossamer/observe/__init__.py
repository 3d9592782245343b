"""How a crawl shows itself: events and counters in, words for people or machines out.

A crawl tells an `Observer` (of `control`) what happens. `open_observer` chooses one: a live display
in a terminal (`live`, `panel`), plain lines elsewhere (`lines`, with the classic words for every
step when asked), or one JSON object a line (`jsonlog`); `summary` has the last words of each.
Whatever they show was perhaps written by a stranger and is made safe here (`escape`), and none of
them can stop the crawl, not even by a reader that goes away (`outlet`).
"""

from gossamer.observe.choose import Look, Wish, choose, open_observer
from gossamer.observe.classic import progress_line
from gossamer.observe.escape import printable
from gossamer.observe.jsonlog import JsonLog
from gossamer.observe.lines import ErrorsOnly, PlainLines
from gossamer.observe.outlet import Outlet
from gossamer.observe.summary import SummaryRecord, ending, summary_record, summary_text

__all__ = [
    "ErrorsOnly",
    "JsonLog",
    "Look",
    "Outlet",
    "PlainLines",
    "SummaryRecord",
    "Wish",
    "choose",
    "ending",
    "open_observer",
    "printable",
    "progress_line",
    "summary_record",
    "summary_text",
]
