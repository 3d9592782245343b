"""The names of saved pages and of the folders that they are in, and how to know a page file."""

import os
import re
import stat
from collections.abc import Iterable

from gossamer.modules.spec import parse_spec
from gossamer.urls import MAX_URL_LENGTH

FOLDER = "pages"
"""Where the module `save` writes unless told otherwise."""
SAVE = frozenset({"save", "gossamer.modules.save:Save"})
HIDDEN_NAME = re.compile(r"\.-?[0-9]+\.[0-9]+\.part", re.ASCII)
"""A page that is being written (see `atomic_files`): its number and the process that writes it."""
_HEAD = re.compile(rb"https?://[^\n]+\n[0-9]+\n")
_HEAD_LENGTH = MAX_URL_LENGTH + 100


def is_integer(name: str) -> bool:
    """Tell whether a file name is an integer."""
    return name.isascii() and name.removeprefix("-").isdigit()


def page_number(name: str) -> int | None:
    """Return the number of a saved page from its file name; None if it is not one."""
    if not (name.isascii() and name.isdigit()) or (name[0] == "0" and name != "0"):
        return None
    return int(name)


def saved_folders(modules: Iterable[str]) -> list[str]:
    """Return the names of the folders to which the modules of a crawl save pages."""
    specs = map(parse_spec, modules)
    return [spec.options.get("folder", FOLDER) for spec in specs if spec.what in SAVE]


def is_page_file(path: str) -> bool:
    """Tell whether a file was written by `save`: the URL and the depth of a page are at its head.

    An empty one may be what a loss of power left of it. A link is not one, wherever it leads.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return False
        head = os.read(descriptor, _HEAD_LENGTH)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return not head or _HEAD.match(head) is not None
