"""Text of unknown origin, made safe for a terminal without putting it into quotes.

Titles, servers' words and messages of modules are written by others. An escape sequence in them
could rewrite the screen, a carriage return forge a line, and a change of writing direction turn a
name round. `gossamer.urls.shown` quotes such a text inside a sentence; this is for whole sentences.
"""

MAX_LENGTH = 500


def printable(text: str, limit: int = MAX_LENGTH) -> str:
    r"""Return the text on one line, cut, with what cannot be seen as in `\x1b` and `\u202e`."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}…"
    # Python counts as printable neither controls (C0, C1) nor format characters (bidi, zero width)
    # nor surrogates nor separators but the space: Unicode categories C* and Z*.
    if cut.isprintable():
        return cut
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in cut)
