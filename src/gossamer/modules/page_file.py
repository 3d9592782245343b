"""The form of a saved page: its name, and the two lines before the body."""

import re

HIDDEN_NAME = re.compile(r"\.-?[0-9]+\.[0-9]+\.part", re.ASCII)
"""A page that is being written (see `atomic_files`): its number and the process that writes it."""


def page_head(url: str, depth: int) -> bytes:
    """Return the URL and the depth, a line each."""
    return f"{url}\n{depth}\n".encode()


def with_depth(content: bytes, depth: int) -> bytes:
    """Return a page file's content with another depth."""
    url, _, rest = content.partition(b"\n")
    body = rest.partition(b"\n")[2]
    return b"%b\n%d\n%b" % (url, depth, body)


def is_integer(name: str) -> bool:
    """Tell whether a file name is an integer."""
    return name.isascii() and name.removeprefix("-").isdigit()


def page_number(name: str) -> int | None:
    """Return the number of a saved page from its file name; None if it is not one."""
    if not (name.isascii() and name.isdigit()) or (name[0] == "0" and name != "0"):
        return None
    return int(name)
