"""The cookies of a crawl, stored as notes: one for each registered domain that has any."""

from typing import Protocol

import msgspec

from gossamer.policy.cookies import MAX_COOKIE_DOMAINS, Cookie, CookieChanges, change_jar

COOKIES_NOTE = "cookies:"
"""How the name of the note begins in which the cookies of a domain are; the domain follows."""
COOKIE_DOMAINS_NOTE = "cookie_domains"
"""The note that counts them."""

_decode = msgspec.msgpack.Decoder(list[Cookie]).decode


class Notes(Protocol):
    """The notes of a crawl, wherever they are kept."""

    def get(self, name: str) -> bytes | None:
        """Return a note."""

    def put(self, name: str, value: bytes) -> None:
        """Store a note."""

    def remove_note(self, name: str) -> None:
        """Remove a note, if there is one of that name."""


def read_jar(note: bytes | None) -> list[Cookie]:
    """Return the cookies of a domain, those that were set last at the end."""
    return [] if note is None else _decode(note)


def change_cookies(notes: Notes, domain: str, changes: CookieChanges) -> None:
    """Change the cookies of a domain, as `lua/steps/put_cookies.lua` does."""
    name = COOKIES_NOTE + domain
    before = notes.get(name)
    domains = int(notes.get(COOKIE_DOMAINS_NOTE) or b"0")
    jar = change_jar(read_jar(before), changes)
    if jar and (before is not None or domains < MAX_COOKIE_DOMAINS):
        notes.put(name, msgspec.msgpack.encode(jar))
        domains += before is None
    elif before is not None:
        notes.remove_note(name)
        domains -= 1
    notes.put(COOKIE_DOMAINS_NOTE, str(domains).encode())
