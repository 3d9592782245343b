"""The content types of pages: HTML, and text that people read."""

import re

_HTML = frozenset({"text/html", "application/xhtml+xml"})

_TEXT_FOR_MACHINES = frozenset(
    {
        "text/cache-manifest",
        "text/calendar",
        "text/css",
        "text/csv",
        "text/ecmascript",
        "text/event-stream",
        "text/javascript",
        "text/jscript",
        "text/livescript",
        "text/tab-separated-values",
        "text/vcard",
        "text/vtt",
        "text/x-component",
        "text/x-ecmascript",
        "text/x-javascript",
        "text/x-json",
        "text/x-vcalendar",
        "text/x-vcard",
    }
)
"""`text/event-stream` matters most: it never ends."""

# RFC 9110, section 8.3.1: type "/" subtype, both tokens.
_MEDIA_TYPE = re.compile(r"[\t ]*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)")


def media_type(content_type: str | None) -> str | None:
    """Return the `type/subtype` of a Content-Type in lower case, None if there is none."""
    match = _MEDIA_TYPE.match(content_type) if content_type else None
    return match[1].lower() if match else None


def may_be_page(content_type: str | None) -> bool:
    """Return whether a body of this Content-Type is worth downloading.

    Without a valid type it is: then its bytes decide what it is.
    """
    kind = media_type(content_type)
    if kind is None or kind in _HTML:
        return True
    return kind.startswith("text/") and kind not in _TEXT_FOR_MACHINES
