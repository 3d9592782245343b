"""Errors of a module's code in one line: what it was, and at which line of the module."""

import traceback
from pathlib import PurePath

MAX_LENGTH = 200


def describe(error: BaseException, file: str | None = None) -> str:
    """Return `ZeroDivisionError: division by zero (mine.py, line 3)`, safe to print.

    The line is the last one of `file` that the error passed through, or else where it was raised.
    """
    where = location(error, file)
    return f"{message(error)} ({where[0]}, line {where[1]})" if where else message(error)


def message(error: BaseException) -> str:
    """Return the type and message in one printable line, whatever `str(error)` does."""
    if isinstance(error, SyntaxError):
        text = f"{type(error).__name__}: {error.msg}"
    else:
        # The library's own words: they survive an exception whose __str__ raises.
        text = traceback.format_exception_only(error)[0]
        text = text.removeprefix(f"{type(error).__module__}.")
    return _printable(text)


def printable_message(error: BaseException) -> str:
    """Return the message of an error of ours in one printable line, without its type."""
    return _printable(str(error))


def _printable(text: str) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - 1]}…"
    # Messages quote pages, and pages hold escape sequences.
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def location(error: BaseException, file: str | None = None) -> tuple[str, int] | None:
    """Return the file name (without folders) and line where the error came from, if it has one."""
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno is not None:
        return PurePath(file or "?").name, error.lineno
    lines = [
        (frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
    ]
    if not lines:
        return None
    own = [line for line in lines if line[0] == file]
    name, number = (own or lines)[-1]
    return PurePath(name or "?").name, number
