"""Traps: hosts that make URLs without end which lead to nothing new, and when they are given up.

Two things are counted, and both are forgiven again, so that an honest site of any size stays clear:

- **Repetition**, for each shape of URLs (`UrlShape`). A page that repeats another one
  speaks against its shape, one whose words were on an earlier page of the host less so, and a page
  with content of its own speaks for it. But each page may be repeated once: a mirror, such as a
  manual that is translated in part, does no more, and has an end.
- **Mazes**, for each first directory. A page speaks against it that leads to several new pages of
  the directory, and to none that was known; on honest sites pages are linked more than once.

To examine a page takes time. Where nothing speaks against a host, one page in eight is examined,
and the next ones when one does.

What is suspected is fetched last, after all other pages of its host; what goes on like that is not
fetched any more. docs/traps.md has the numbers.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec
from xxhash import xxh3_64_intdigest

from gossamer.model import Cause, Url

REPEATED_PAGE: Final = 4
SAME_WORDS: Final = 1
OWN_CONTENT: Final = -36
"""So at least nine of ten pages must repeat others, for a shape to be suspected at all."""
SLOW_AT: Final = 20
STOP_AT: Final = 200
"""50 pages that repeat others, or 200 with the same words as others."""
SLACK: Final = 0.4
"""What one page with content of its own adds to that: one repeated page more for ten of them."""

MAZE_SLOW_AT: Final = 20
MAZE_STOP_AT: Final = 300
KNOWN_LINK: Final = -20
MIN_NEW_LINKS: Final = 2
"""A chain of pages, each with a link to the next, is no maze."""

SAMPLED: Final = 8
"""Of how many pages one is examined, where nothing speaks against the host."""
WATCHED: Final = 16
"""How many pages are examined after one that speaks against the host."""

MAX_SHAPES: Final = 500
"""How many shapes, and how many directories, of a host are counted: those that are suspected, and
those that were visited last."""
MAX_PAGES: Final = 2000
"""How many pages with random keys in their URLs are remembered, and how many repeated ones."""
MAX_TEMPLATE_HASHES: Final = 256
"""How many sets of words of a host are remembered: twelve months of a calendar, and more."""

MAX_KEY_LENGTH: Final = 120
_MAX_NAMES: Final = 4
"""URLs with more parameters are of one shape, whatever their names are."""
_MIN_RANDOM: Final = 8
_MIN_UNSPEAKABLE: Final = 6
_LONG: Final = 20

_NUMBER: Final = re.compile(r"[0-9]+")
_PIECE: Final = re.compile(r"[0-9A-Za-z]+")
_CHANGES: Final = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_HEX: Final = re.compile(r"[0-9a-fA-F]+\Z")
_CONSONANTS: Final = re.compile(r"[b-df-hj-np-tv-xzB-DF-HJ-NP-TV-XZ]{6}")
_WITHOUT_VOWELS: Final = str.maketrans("", "", "aeiouyAEIOUY")


class UrlShape(msgspec.Struct, frozen=True):
    """The shape of a URL."""

    template: str
    """The URL without numbers and random parts; its group if it has neither, and no query."""
    group: str
    """Its first directory: `/maze/*`, or `/*` if it is in none."""
    page: str = ""
    """The URL without its random parts only; empty if it has none. If those are keys of sessions,
    URLs with the same are one page."""
    sessions: tuple[str, ...] = ()
    """Where the random parts are: `/s/X/*`, `*?visit=X`."""


@lru_cache(maxsize=4096)
def shape_of(url: Url) -> UrlShape:
    """Return the shape of a URL."""
    path, _, query = url.partition("?")
    group, parts = group_of(url), path.split("/")[3:]
    segments = [_template(part) for part in parts]
    if not query and not any(segment.kinds for segment in segments):
        return UrlShape(group, group)
    template = "/" + "/".join(segment.text for segment in segments) + _query_shape(query)
    sessions = []
    for end, segment in enumerate(segments, start=1):
        if "X" in segment.kinds:
            sessions.append("/" + "/".join(part.text for part in segments[:end]) + "/*")
            break
    names = _parameters(query)
    sessions += [f"*?{name}=X" for name, value in names if "X" in _template(value).kinds]
    return UrlShape(
        template[:MAX_KEY_LENGTH],
        group,
        _PIECE.sub(lambda piece: "X" if is_random(piece[0]) else piece[0], url) if sessions else "",
        tuple(place[:MAX_KEY_LENGTH] for place in sessions),
    )


def group_of(url: Url) -> str:
    """Return the first directory of a URL, where random names and numbers do not tell apart."""
    parts = url.partition("?")[0].split("/", 4)
    # scheme, nothing, host, first segment, rest
    return f"/{_template(parts[3]).text}/*"[:MAX_KEY_LENGTH] if len(parts) > 4 else "/*"


class _Template(msgspec.Struct, frozen=True):
    text: str
    kinds: str
    """N if a number was left out, X if something random was."""


@lru_cache(maxsize=16384)
def _template(segment: str) -> _Template:
    """Return a segment, or a value, without its numbers and random parts."""
    segment = segment[:MAX_KEY_LENGTH]
    text = _PIECE.sub(lambda piece: "\0" if is_random(piece[0]) else piece[0], segment)
    kinds = "X" if "\0" in text else ""
    text, numbers = _NUMBER.subn("N", text)
    return _Template(text.replace("\0", "X"), kinds + ("N" if numbers else ""))


def is_random(name: str) -> bool:
    """Tell whether letters and digits without a separator look like no word and no small number.

    Keys of sessions and times are numbers of many digits, too.
    """
    if name.isdigit():
        return len(name) >= _MIN_RANDOM
    if not name.isalpha():
        is_key = len(_CHANGES.findall(name)) >= 3 or _HEX.match(name) is not None
        return len(name) >= _MIN_RANDOM and (is_key or len(name) >= _LONG)
    if len(name) < _MIN_UNSPEAKABLE or name.isupper():
        return False
    vowels = len(name) - len(name.translate(_WITHOUT_VOWELS))
    return 7 * vowels < len(name) or _CONSONANTS.search(name) is not None


def _query_shape(query: str) -> str:
    if not query:
        return ""
    names = sorted({_template(name).text for name, _ in _parameters(query)})
    return "?" + ("&".join(names) if len(names) <= _MAX_NAMES else "…")


def _parameters(query: str) -> list[tuple[str, str]]:
    pairs = (pair.partition("=") for pair in query.split("&")[: 2 * _MAX_NAMES] if pair)
    return [(name, value) for name, _, value in pairs]


class TrapVerdict(msgspec.Struct, frozen=True):
    """The verdict about a URL: fetch it, fetch it last, or leave it out."""

    cause: Cause | None = None
    """Why it is suspected; None: it is not."""
    stop: bool = False
    """Whether it is not fetched at all."""
    words: str = ""
    """The reason, for people."""


CLEAR: Final = TrapVerdict()


class TrapVisit(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a page that was fetched."""

    url: Url
    repeats: int | None
    """The number of the page that it is a duplicate of, or similar to; None: there is none."""
    text_template_hash: int
    """The hash of its words (`content/similarity.py`); 0: too few to tell."""
    new: int
    """How many of its links lead to new pages of its group."""
    known: int
    """How many lead to known pages of its group, without those that the page before had too."""


class HostTraps(msgspec.Struct):
    """What is counted of one host; of bounded size."""

    shapes: dict[str, tuple[int, int]] = {}
    """For each shape how many pages had content of their own, and what speaks against it."""
    mazes: dict[str, int] = {}
    """For each group what speaks against it."""
    visits: int = 0
    examine_at: int = 0
    """From how many visits on a page is examined again where nothing speaks against the host. The
    next pages may be read before a visit is counted: so it is no exact number, which they miss."""
    watching: int = 0
    """How many of the next pages are examined."""
    pages: set[int] = set()
    """The pages that were visited under a random key (`UrlShape.page`)."""
    text_template_hashes: dict[int, None] = {}
    """The words of the last pages."""
    repeats: dict[int, int] = {}
    """For each shape and page that it repeats, which of its URLs did so first."""

    def judge(self, url: Url) -> TrapVerdict:
        """Return what is to be done with a URL."""
        if not self.shapes:
            return CLEAR
        shape = shape_of(url)
        verdicts = (*map(self._repetition, self._keys(shape)), self._maze(shape.group))
        suspicions = [verdict for verdict in verdicts if verdict is not CLEAR]
        return max(suspicions, key=lambda verdict: verdict.stop, default=CLEAR)

    @property
    def examines_next(self) -> bool:
        """Whether the next page is examined; others are only counted, with `pass_over`."""
        return self.watching > 0 or self.visits >= self.examine_at

    def pass_over(self) -> None:
        """Count a page that was not examined."""
        self.visits += 1

    def knows(self, url: Url) -> bool:
        """Return whether a page was visited under another key in its query: so it is not new."""
        if "?" not in url:
            return False
        shape = shape_of(url)
        return any(place.startswith("*?") for place in shape.sessions) and self._is_page(shape)

    def note(self, visit: TrapVisit) -> bool:
        """Count a page; return whether the verdict about URLs like it has changed."""
        shape = shape_of(visit.url)
        before = self.judge(visit.url)
        self.examine_at = self.visits - self.visits % SAMPLED + SAMPLED
        self.visits += 1
        weight = self._weight(visit, shape)
        stands_for = 1 if self.watching else SAMPLED
        for key in self._keys(shape):
            own, against = self.shapes.pop(key, (0, 0))
            self.shapes[key] = (own + stands_for * (weight < 0), max(0, against + weight))
            if len(self.shapes) > MAX_SHAPES:
                clear = (shape for shape, (_, votes) in self.shapes.items() if votes < SLOW_AT)
                del self.shapes[next(clear, next(iter(self.shapes)))]
        if shape.page and len(self.pages) < MAX_PAGES:
            self.pages.add(xxh3_64_intdigest(shape.page.encode()))
        is_against = self._note_maze(shape, visit) or weight > 0
        self.watching = WATCHED if is_against else max(0, self.watching - 1)
        after = self.judge(visit.url)
        return (before.cause, before.stop) != (after.cause, after.stop)

    def _keys(self, shape: UrlShape) -> tuple[str, ...]:
        """Return what a URL is counted under.

        A page that was visited under another key of a session says something about such keys, and
        one that was not is judged as if it had none.
        """
        return shape.sessions if shape.page and self._is_page(shape) else (shape.template,)

    def _is_page(self, shape: UrlShape) -> bool:
        """Tell whether a page was visited under another key; too many count as all."""
        key = xxh3_64_intdigest(shape.page.encode())
        return len(self.pages) >= MAX_PAGES or key in self.pages

    def _weight(self, visit: TrapVisit, shape: UrlShape) -> int:
        is_seen = visit.text_template_hash in self.text_template_hashes
        if visit.text_template_hash:
            self.text_template_hashes.pop(visit.text_template_hash, None)
            self.text_template_hashes[visit.text_template_hash] = None
            if len(self.text_template_hashes) > MAX_TEMPLATE_HASHES:
                del self.text_template_hashes[next(iter(self.text_template_hashes))]
        if visit.repeats is not None:
            return 0 if self._is_mirror(visit, shape) else REPEATED_PAGE
        if is_seen:
            return SAME_WORDS
        return OWN_CONTENT if visit.text_template_hash else 0

    def _is_mirror(self, visit: TrapVisit, shape: UrlShape) -> bool:
        """Tell whether no other URL of its shape repeats the page that this one does.

        What was visited under another key of a session is no mirror.
        """
        if self._keys(shape) != (shape.template,):
            return False
        url = xxh3_64_intdigest(visit.url.encode())
        pair = xxh3_64_intdigest(f"{visit.repeats} {shape.template}".encode())
        first = self.repeats.setdefault(pair, url)
        if len(self.repeats) > MAX_PAGES:
            del self.repeats[next(iter(self.repeats))]
        return first == url

    def _note_maze(self, shape: UrlShape, visit: TrapVisit) -> bool:
        """Count the links of a page; return whether they speak against its group."""
        against = self.mazes.pop(shape.group, 0)
        step = KNOWN_LINK if visit.known else int(visit.new >= MIN_NEW_LINKS)
        self.mazes[shape.group] = max(0, against + step)
        if len(self.mazes) > MAX_SHAPES:
            clear = (group for group, votes in self.mazes.items() if votes < MAZE_SLOW_AT)
            del self.mazes[next(clear, next(iter(self.mazes)))]
        return step > 0

    def _repetition(self, key: str) -> TrapVerdict:
        own, against = self.shapes.get(key, (0, 0))
        if against < SLOW_AT:
            return CLEAR
        words = (
            f"pages like {key} repeat others of their host (about {own} had content of their own)"
        )
        return TrapVerdict(Cause.TRAP_REPEATS, against >= STOP_AT + SLACK * own, words)

    def _maze(self, group: str) -> TrapVerdict:
        against = self.mazes.get(group, 0)
        if against < MAZE_SLOW_AT:
            return CLEAR
        words = f"pages like {group} lead on to new ones without end, and none is linked twice"
        return TrapVerdict(Cause.TRAP_MAZE, against >= MAZE_STOP_AT, words)
