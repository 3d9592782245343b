"""Python's own logging, led to the observer: modules and libraries speak through it."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.coordinator import Level, Observer


class ObserverHandler(logging.Handler):
    """Says every record to an observer."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(logging.WARNING)
        self._observer = observer

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record, with the exception that belongs to it in one line."""
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        if record.name.startswith("gossamer."):
            self._observer.say(level, _text(record))
        else:
            self._observer.say(level, _text(record), logger=record.name)


@contextmanager
def logging_to(observer: Observer) -> Iterator[None]:
    """Lead warnings and errors of all loggers to the observer, instead of anywhere else."""
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
        # The arguments do not fit the format: a mistake of the caller, and no reason to say less.
        text = f"{record.msg} {record.args}"
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return text
    # The library's own words: they survive an exception whose __str__ raises.
    return f"{text}: {''.join(traceback.format_exception_only(error)).strip()}"
