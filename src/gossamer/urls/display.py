"""The quoting of untrusted text, so that it is safe to show."""


def shown(text: str, limit: int = 100) -> str:
    """Return the text in quotes, cut, with control and invisible characters escaped.

    So no escape sequence or change of writing direction reaches a terminal.
    """
    escaped = repr(text[:limit])
    if len(text) <= limit and len(escaped) <= limit + 2:
        return escaped
    return f"{escaped[: limit + 1]}…{escaped[0]}"
