"""Text of unknown origin, made safe to show to a person."""


def shown(text: str, limit: int = 100) -> str:
    """Return the text in quotes, cut, with control and invisible characters escaped.

    A terminal never sees an escape sequence or a change of writing direction from outside.
    """
    escaped = repr(text[:limit])
    if len(text) <= limit and len(escaped) <= limit + 2:
        return escaped
    return f"{escaped[: limit + 1]}…{escaped[0]}"
