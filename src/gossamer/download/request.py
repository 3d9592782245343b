"""The request as libcurl sends it, for whoever keeps or archives the exchange."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Final

from gossamer.codings import ACCEPT_ENCODING
from gossamer.kinds import ContentKind
from gossamer.model import Url
from gossamer.policy.media_types import accept_field

SECRET_FIELDS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
"""The fields whose values are never kept, in lower case."""

REMOVED: Final = "removed"
"""What stands in place of a secret."""


def page_fields(accepted: frozenset[ContentKind]) -> tuple[tuple[str, str], ...]:
    """Return the fields of a request for a page, beside Host and User-Agent."""
    return ("Accept", accept_field(accepted)), ("Accept-Encoding", ACCEPT_ENCODING)


def request_bytes(
    url: Url,
    user_agent: str,
    fields: Iterable[tuple[str, str]],
    secret: Collection[str] = SECRET_FIELDS,
) -> bytes:
    """Return the request for a URL as it goes to its server, without the values of secret fields.

    `secret` are their names in lower case.
    """
    host, _, path = url.partition("://")[2].partition("/")
    rest = _same_lines(user_agent, tuple(fields), frozenset(secret))
    return f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n".encode("latin-1", "replace") + rest


@lru_cache(64)
def _same_lines(
    user_agent: str, fields: tuple[tuple[str, str], ...], secret: frozenset[str]
) -> bytes:
    """Return the lines that are the same in all requests to an origin, to the empty one."""
    lines = [f"{name}: {REMOVED if name.lower() in secret else value}" for name, value in fields]
    text = "\r\n".join([f"User-Agent: {user_agent}", *lines, "", ""])
    return text.encode("latin-1", "replace")
