"""The names of saved pages."""

import re

HIDDEN_NAME = re.compile(r"\.-?[0-9]+\.[0-9]+\.part", re.ASCII)
"""A page that is being written (see `atomic_files`): its number and the process that writes it."""


def is_integer(name: str) -> bool:
    """Tell whether a file name is an integer."""
    return name.isascii() and name.removeprefix("-").isdigit()


def page_number(name: str) -> int | None:
    """Return the number of a saved page from its file name; None if it is not one."""
    if not (name.isascii() and name.isdigit()) or (name[0] == "0" and name != "0"):
        return None
    return int(name)
