"""The bridge from Python's logging, which modules and libraries use, to the observer."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.coordinator import Level, Observer


class ObserverHandler(logging.Handler):
    """A logging handler that passes every record to an observer."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(logging.WARNING)
        self._observer = observer

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record, with its exception on one line."""
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        fields = {} if record.name.startswith("gossamer.") else {"logger": record.name}
        self._observer.say(level, _text(record), **fields)


@contextmanager
def logging_to(observer: Observer) -> Iterator[None]:
    """Send warnings and errors of all loggers to the observer only."""
    root = logging.getLogger()
    before = root.handlers[:]
    root.handlers[:] = [ObserverHandler(observer)]
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
