"""The identity of the crawler: its User-Agent and its name in robots.txt."""

from gossamer.errors import UsageError
from gossamer.version import __version__

PRODUCT = "Gossamer"
"""The product token: first in the User-Agent, and our name in robots.txt."""


def user_agent(contact: str | None = None) -> str:
    """Return our User-Agent; `contact` is a page or mail address of whoever runs the crawl.

    Raise `UsageError` for a contact that is not allowed in a header's comment.
    """
    product = f"{PRODUCT}/{__version__}"
    if contact is None:
        return product
    # RFC 9110, section 5.6.5: parentheses and backslashes have a meaning inside a comment.
    if not (contact.isascii() and contact.isprintable()) or set(contact) & set("()\\"):
        raise UsageError("The contact must be printable ASCII without parentheses or backslash.")
    return f"{product} (+{contact})"
