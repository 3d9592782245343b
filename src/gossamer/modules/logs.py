"""The bridge from Python's logging, which plugins and libraries use, to whoever shows messages."""

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Say = Callable[..., None]
"""Takes a level, `warning` or `error`, a message, and named fields; from any thread."""


class SayingHandler(logging.Handler):
    """A logging handler that passes every record on as a message."""

    def __init__(self, say: Say) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record, with its exception on one line."""
        fields = {} if record.name.startswith("gossamer.") else {"logger": record.name}
        level = "error" if record.levelno >= logging.ERROR else "warning"
        self._say(level, _text(record), **fields)


@contextmanager
def logging_to(say: Say) -> Iterator[None]:
    """Send warnings and errors of all loggers there only."""
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [SayingHandler(say)]
    try:
        yield
    finally:
        root.handlers[:] = before


def _text(record: logging.LogRecord) -> str:
    try:
        text = record.getMessage()
    except (KeyError, TypeError, ValueError):
        # The arguments do not fit the format: show both.
        text = f"{record.msg} {record.args}"
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return text
    # This works even for an exception whose __str__ raises.
    return f"{text}: {''.join(traceback.format_exception_only(error)).strip()}"
