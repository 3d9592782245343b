"""Near duplicates made of real pages: the same page as a server sends it the next time."""

import random
import re
from collections.abc import Callable

MakeCopy = Callable[[str, random.Random], str]
"""Of the source of a page, and chance, the source of a near duplicate."""

_TEXT = re.compile(r">([^<>]{80,400}?[.!?])(?=[\s<])")
"""Sentences, or what looks like some, between two tags."""


def change_date(source: str, chance: random.Random) -> str:
    """The page says when it was made, above and below."""
    day = f"{chance.randint(1, 28)} {chance.choice(_MONTHS)} 20{chance.randint(10, 26)}"
    return _around(source, f"<div class=date>Today is {day}</div>", f"<p>Last change: {day}</p>")


def change_counter(source: str, chance: random.Random) -> str:
    """The page counts its visitors."""
    return _around(source, "", f"<p>You are visitor number {chance.randint(1, 10**7)}</p>")


def change_session(source: str, chance: random.Random) -> str:
    """Every link has the number of a session in it, and so has the foot of the page."""
    session = f"{chance.getrandbits(64):016x}"
    linked = re.sub(r'(href="[^"#?:]+\.html)', rf"\1?sid={session}", source)
    return _around(linked, "", f"<p>Session {session}</p>")


def change_advertisement(source: str, chance: random.Random) -> str:
    """Another advertisement is shown beside the content."""
    words = " ".join(chance.choice(_GOODS) for _ in range(chance.randint(5, 20)))
    return _around(source, f'<aside class="ad"><a href="/buy">{words}</a></aside>', "")


def change_sentence(source: str, chance: random.Random) -> str:
    """One sentence of the text was rewritten."""
    found = list(_TEXT.finditer(source))
    if not found:
        return source
    chosen = chance.choice(found)
    words = chosen[1].split()
    at = chance.randrange(len(words))
    words[at : at + 6] = [chance.choice(_GOODS) for _ in range(6)]
    return source[: chosen.start(1)] + " ".join(words) + source[chosen.end(1) :]


NEAR_COPIES: dict[str, MakeCopy] = {
    "date": change_date,
    "counter": change_counter,
    "session id": change_session,
    "advertisement": change_advertisement,
    "changed sentence": change_sentence,
}

EDITS = {change_sentence}
"""What is done to a page by hand; the others are different each time."""

_MONTHS = ("May", "June", "July")
_GOODS = (
    *("apples", "boats", "cheap", "deals", "early", "finest", "garden", "holiday", "insurance"),
    *("jewels", "kitchen", "lamps", "music", "new", "offers", "prices"),
)


def _around(source: str, above: str, below: str) -> str:
    """Return a page with something put at the beginning and the end of its body."""
    opened = re.search(r"<body[^>]*>", source, re.IGNORECASE)
    start = opened.end() if opened else 0
    end = source.lower().rfind("</body>")
    end = len(source) if end < start else end
    return source[:start] + above + source[start:end] + below + source[end:]
