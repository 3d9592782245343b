"""The target of `<meta http-equiv="refresh">`.

Old sites redirect this way, and documentation generators still do.
"""

import re

# HTML, section 4.2.5.3, "shared declarative refresh steps".
_REFRESH = re.compile(
    r"""[\t\n\f\r ]* [\d.]+
        (?: [\t\n\f\r ]+ [;,]? | [;,] ) [\t\n\f\r ]*
        (?: url [\t\n\f\r ]* = [\t\n\f\r ]* )?
        (?: "([^"]*) | '([^']*) | (.*) )""",
    re.VERBOSE | re.IGNORECASE | re.ASCII | re.DOTALL,
)


def refresh_target(content: str) -> str | None:
    """Return the URL in the value of a refresh, as written; None if there is none."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    quoted, single_quoted, plain = match.groups(default="")
    return (quoted or single_quoted or plain).strip() or None
