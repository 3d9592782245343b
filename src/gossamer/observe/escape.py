"""The escaping of text of unknown origin, so that it is safe on a terminal.

Titles, answers of servers and messages of modules are not ours. An escape sequence in them could
rewrite the screen, a carriage return forge a line, and a change of writing direction reverse a
name. `gossamer.urls.shown` quotes such a text inside a sentence; this is for whole sentences.
"""

MAX_LENGTH = 500


def printable(text: str, limit: int = MAX_LENGTH) -> str:
    r"""Return the text on one line, cut, with invisible characters as in `\x1b` and `\u202e`."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    # Not printable are controls (C0, C1), format characters (bidi, zero width), surrogates, and
    # separators but the space: Unicode categories C* and Z*.
    if cut.isprintable():
        return cut
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in cut)
