"""URLs that loops of links make: directories again and again, or parameters without end."""

from typing import Final

from gossamer.model import Url

MAX_REPEATED: Final = 3
"""A run of one to three segments may be there so often in a row."""
MAX_SEGMENTS: Final = 50
MAX_PARAMETERS: Final = 50


def loop_in(url: Url) -> str:
    """Return why a URL is surely made by a loop of links, in words; empty: it may be sound.

    A relative link on a page that answers for every path gives `/a/b/a/b/a/b`.
    """
    path, _, query = url.partition("?")
    if query.count("&") >= MAX_PARAMETERS:
        return f"has more than {MAX_PARAMETERS} parameters"
    segments = path.split("/")[3:]
    if len(segments) > MAX_SEGMENTS:
        return f"has more than {MAX_SEGMENTS} segments in its path"
    for length in (1, 2, 3):
        if _is_repeated(segments, length):
            return f"has the same part of its path more than {MAX_REPEATED} times in a row"
    return ""


def _is_repeated(segments: list[str], length: int) -> bool:
    """Tell whether a run of this many segments comes too often in a row."""
    needed, run = length * MAX_REPEATED, 0
    for at in range(length, len(segments)):
        # Empty segments and numbers are no names: //, and 0/0/0/0 of a map.
        is_same = segments[at] == segments[at - length] and not _is_plain(segments[at])
        run = run + 1 if is_same else 0
        if run >= needed:
            return True
    return False


def _is_plain(segment: str) -> bool:
    return not segment or segment.isdigit()
