"""The escaping of text of unknown origin, so that it is safe on a terminal and in a log.

Titles, answers of servers and messages of modules are not ours. An escape sequence in them could
rewrite the screen, a carriage return forge a line, and a change of writing direction reverse a
name. Every line that is printed passes here on its way out, as text or as JSON, whoever has made
it; `gossamer.urls.shown` quotes such a text inside a sentence.
"""

MAX_LENGTH = 500


def printable(text: str, limit: int | None = MAX_LENGTH) -> str:
    r"""Return the text on one line, cut, with invisible characters as in `\x1b` and `\u202e`."""
    cut = text if limit is None or len(text) <= limit else f"{text[: limit - 1]}…"
    # Not printable are controls (C0, C1), format characters (bidi, zero width), surrogates, and
    # separators but the space: Unicode categories C* and Z*.
    if cut.isprintable():
        return cut
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in cut)


def printable_json(document: bytes) -> bytes:
    r"""Return a JSON document of the same value on one line, invisible characters as `\u202e`."""
    text = document.decode()
    if text.isprintable():
        return document
    import json  # noqa: PLC0415 -- takes a while to load, and hardly any text needs it

    # JSON itself uses only printable characters, so these stand inside of strings.
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text).encode()
