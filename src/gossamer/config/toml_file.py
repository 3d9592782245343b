"""Reads the options in a TOML file and tells the line of each."""

import re
from collections.abc import Iterator
from pathlib import Path

from gossamer.errors import UsageError


def read_toml(file: Path) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and place (`FILE, line N`) of every option in the file.

    `max_pages` is read as `max-pages`. Raise `UsageError` for a file that cannot be read, is no
    TOML, or sets an option twice.
    """
    import tomllib  # noqa: PLC0415 -- only who has a file waits for its parser

    try:
        text = file.read_text(encoding="utf-8-sig")
        keys = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the configuration file {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the configuration file {file} is no valid TOML: {error}") from error
    places: dict[str, str] = {}
    for key, value in keys.items():
        name, place = key.replace("_", "-"), f"{file}{_line(key, text)}"
        if name in places:
            raise UsageError(f"{name} is set twice ({places[name]}; {place}): remove one")
        places[name] = place
        yield name, value, place


def _line(key: str, text: str) -> str:
    # tomllib keeps no positions, but a key of the top level begins its line.
    start = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    for number, line in enumerate(text.splitlines(), start=1):
        if start.match(line):
            return f", line {number}"
    return ""
