"""The reader of TOML files of options, which also finds the line of each."""

import re
from collections.abc import Iterator
from pathlib import Path

from gossamer.errors import UsageError


def read_toml(file: Path) -> Iterator[tuple[str, object, str]]:
    """Yield name, value and origin (`FILE, line N`) of every option in the file.

    `max_pages` is read as `max-pages`. Raise `UsageError` for a file that cannot be read, is not
    TOML, or sets an option twice.
    """
    import tomllib  # noqa: PLC0415 -- loaded only for those who have a file

    try:
        text = file.read_text(encoding="utf-8-sig")
        keys = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"cannot read the configuration file {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the configuration file {file} is not valid TOML: {error}") from error
    origins: dict[str, str] = {}
    for key, value in keys.items():
        name, origin = key.replace("_", "-"), f"{file}{_line(key, text)}"
        if name in origins:
            raise UsageError(f"{name} is set twice ({origins[name]}; {origin}): remove one")
        origins[name] = origin
        yield name, value, origin


def _line(key: str, text: str) -> str:
    # tomllib keeps no positions, but a key of the top level starts its line.
    start = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*[=.\]]")
    for number, line in enumerate(text.splitlines(), start=1):
        if start.match(line):
            return f", line {number}"
    return ""
