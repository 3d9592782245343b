"""The rules for robots: robots.txt (RFC 9309 and common practice), and the directives of a page.

The file is untrusted: whatever its bytes, parsing takes bounded time, raises nothing, and keeps
only the rules for our agent. Common mistakes with a clear meaning are understood, as by Google's
parser: a missing colon, a misspelt "disallow", words or a version after the agent's name. Where
Google would fetch more than the standard allows, we follow the standard.

No library is used, because libraries differ from this in how they group lines and choose the agent,
which cannot be changed from outside.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from gossamer.model import Cause, Outcome, Url
from gossamer.urls import normalise, shown

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_STARS = re.compile(rb"\*+")
_KEPT_IN_PATH = frozenset(b"/?%")
_KEPT_IN_QUERY = frozenset(b"%")

_SHOWN_CHARS = 200
"""A rule may be as long as the file: this much of it is shown to people."""


class RobotsRule(msgspec.Struct, frozen=True, gc=False):
    """An Allow or Disallow line with a path."""

    allows: bool
    written: bytes
    """The path as written in the file."""
    line: int
    """The number of its line, from 1."""
    pieces: tuple[bytes, ...]
    """The parts between the wildcards, unescaped: a single one is a plain prefix."""
    anchored: bool
    """Whether the path ends with a dollar: the match must reach the end of the URL."""
    octets: int
    """The length that decides between rules."""

    @property
    def is_prefix(self) -> bool:
        """Whether the rule matches exactly the URLs that start with its one piece."""
        return len(self.pieces) == 1 and not self.anchored

    def matches(self, target: bytes) -> bool:
        """Return whether the rule matches this target (see `rule_targets`).

        Every piece is matched where it first fits: that leaves most for the later pieces, so no
        other choice needs trying, and wildcards cannot multiply the work.
        """
        pieces = self.pieces
        if not target.startswith(pieces[0]):
            return False
        position = len(pieces[0])
        if len(pieces) == 1:
            return not self.anchored or position == len(target)
        for piece in pieces[1:-1]:
            start = target.find(piece, position)
            if start < 0:
                return False
            position = start + len(piece)
        if self.anchored:
            return target.endswith(pieces[-1], position)
        return target.find(pieces[-1], position) >= 0

    def __str__(self) -> str:
        path = shown(self.written.decode("utf-8", "replace"), _SHOWN_CHARS)[1:-1]
        return f"{'Allow' if self.allows else 'Disallow'}: {path} (line {self.line})"


def read_rule(allows: bool, written: bytes, line: int) -> RobotsRule | None:
    """Return the rule of an Allow or Disallow line; None if its path can match nothing.

    By the standard an empty path is not a rule, nor is one that starts with neither a slash nor a
    wildcard.
    """
    if not written.startswith((b"/", b"*")):
        return None
    anchored = written.endswith(b"$")
    pieces = []
    in_query = False
    for piece in _STARS.split(written[:-1] if anchored else written):
        if in_query:
            pieces.append(_unescape(piece, _KEPT_IN_QUERY))
        else:
            pieces.append(_unescape_both(piece))
            in_query = b"?" in piece
    octets = written.count(b"*") + anchored + sum(map(_encoded_length, pieces))
    return RobotsRule(allows, written, line, tuple(pieces), anchored, octets)


def rule_targets(url: Url) -> tuple[bytes, ...]:
    """Return the path and query of a URL in the forms that rules are matched against.

    Mostly one. A query with an escaped slash or question mark has two: unescaped, because there
    both are plain data, and as written, for rules that contain the escape but whose question mark
    is covered by a wildcard ("/*url=%2F").
    """
    start = url.find("/", url.find("//") + 2)
    text = url[start:].encode("utf-8", "replace") if start >= 0 else b"/"
    if b"%" not in text:
        return (text,)
    unescaped, as_written = _unescape_both(text), _unescape(text, _KEPT_IN_PATH)
    return (unescaped,) if unescaped == as_written else (unescaped, as_written)


def _unescape_both(text: bytes) -> bytes:
    path, mark, query = text.partition(b"?")
    return _unescape(path, _KEPT_IN_PATH) + mark + _unescape(query, _KEPT_IN_QUERY)


def _unescape(text: bytes, kept: frozenset[int]) -> bytes:
    if b"%" not in text:
        return text

    def undo(escape: re.Match[bytes]) -> bytes:
        octet = int(escape[1], 16)
        return escape[0].upper() if octet in kept else bytes((octet,))

    return _ESCAPE.sub(undo, text)


def _encoded_length(piece: bytes) -> int:
    """Count octets as the standard does: each that is not ASCII is three, percent-encoded."""
    return len(piece) if piece.isascii() else len(piece) + 2 * sum(octet > 0x7F for octet in piece)


MAX_ROBOTS_BYTES: Final = 500 * 1024
"""How much of a robots.txt is read: the minimum of RFC 9309, section 2.5."""

MAX_CRAWL_DELAY_S: Final = 300.0
"""The longest Crawl-delay that is obeyed: with a longer one a crawl would never end."""

MAX_SEARCHED_OCTETS: Final = 5_000_000
"""How many octets the wildcards of a file may search for one verdict: 70 ms at worst.

Hundreds of wildcards with the longest URL stay below it. Files above it are made to keep crawlers
busy, and the safe answer is to deny the URL.
"""

MAX_PATH_OCTETS: Final = 16 * 1024
"""The longest path of a rule that is read, twice as long as any URL.

A longer one that forbids is cut, so that it forbids more; one that allows is left out.
"""

MAX_ANNOUNCED_SITEMAPS: Final = 100
"""How many sitemaps of a robots.txt are read."""

_HALF_ESCAPE = re.compile(rb"(?:%[0-9A-Fa-f]?|\$)\Z")
_PRODUCT_TOKEN = re.compile(r"[A-Za-z_-]*")
_COMPATIBLE = re.compile(r"Mozilla/[^(]*\(compatible; *", re.IGNORECASE)


class RobotsVerdict(msgspec.Struct, frozen=True):
    """Whether a URL may be fetched, and why."""

    refusal: Outcome | None = None
    """None: it may. ROBOTS_DENIED: a rule forbids it. ROBOTS_UNREACHABLE: not known yet."""
    reason: str = ""
    """The rule or the trouble that decided, for people; empty if no rule matches the URL."""
    retry_at: float | None = None
    """When to ask again; set exactly when robots.txt is unreachable."""
    cause: Cause | None = None
    """Why robots.txt is unreachable."""

    @property
    def allowed(self) -> bool:
        """Whether the URL may be fetched."""
        return self.refusal is None


_NO_RULES = RobotsVerdict()


class RobotsRules:
    """The rules of a robots.txt for one agent. Without rules everything is allowed."""

    __slots__ = (
        *("_patterns", "_prefixes", "_searches"),
        *("crawl_delay_s", "footprint_bytes", "rules", "sitemaps"),
    )

    def __init__(
        self,
        rules: Iterable[RobotsRule] = (),
        crawl_delay_s: float | None = None,
        sitemaps: Iterable[Url] = (),
    ) -> None:
        self.rules = tuple(sorted(rules, key=lambda rule: (-rule.octets, not rule.allows)))
        """In the order of precedence: the longest first, of equals the one that allows."""
        self.crawl_delay_s = crawl_delay_s
        """The pause that the agent's group asks for between requests."""
        self.sitemaps = tuple(sitemaps)
        """Where the site has its sitemaps; they belong to no group."""
        # Most URLs start with none of the plain prefixes: one check excludes all of them.
        self._prefixes = tuple(rule.pieces[0] for rule in self.rules if rule.is_prefix)
        self._patterns = tuple(rule for rule in self.rules if not rule.is_prefix)
        self._searches = sum(len(rule.pieces) - 1 for rule in self._patterns)
        size = sum(200 + 40 * len(rule.pieces) + 2 * len(rule.written) for rule in self.rules)
        self.footprint_bytes = size + sum(100 + len(url) for url in self.sitemaps)
        """The approximate memory: somewhat more than measured, for every kind of file."""

    def judge(self, url: Url) -> RobotsVerdict:
        """Return the verdict of the most specific rule that matches this URL (section 2.2.2)."""
        if not self.rules:
            return _NO_RULES
        targets = rule_targets(url)
        if targets[0] == b"/robots.txt":
            return RobotsVerdict(reason="robots.txt itself is always allowed")
        if self._searches * sum(map(len, targets)) > MAX_SEARCHED_OCTETS:
            return RobotsVerdict(Outcome.ROBOTS_DENIED, "robots.txt is too complex for this URL")
        plain = any(target.startswith(self._prefixes) for target in targets)
        for rule in self.rules if plain else self._patterns:
            for target in targets:
                if rule.matches(target):
                    refusal = None if rule.allows else Outcome.ROBOTS_DENIED
                    return RobotsVerdict(refusal, reason=str(rule))
        return _NO_RULES


def product_token(user_agent: str) -> str:
    """Return the name of this User-Agent in a robots.txt (section 2.2.1).

    It is the first word, without the version: letters, hyphens and underscores. In the form
    "Mozilla/5.0 (compatible; ExampleBot/0.1)" it is the first word in the parentheses.
    """
    compatible = _COMPATIBLE.match(user_agent)
    token = _PRODUCT_TOKEN.match(user_agent, compatible.end() if compatible else 0)
    return token[0] if token else ""


def parse_robots(body: bytes, agent: str) -> RobotsRules:
    """Return the rules of this robots.txt for the agent with this product token."""
    reader = _Reader(agent.lower())
    for number, line in enumerate(_readable(body).splitlines(), start=1):
        if line:
            reader.read(number, line)
    return reader.result()


def _readable(body: bytes) -> bytes:
    """Return the part of the body that is read, in UTF-8 and without a byte order mark."""
    cut = len(body) >= MAX_ROBOTS_BYTES
    text = _without_mark(body[:MAX_ROBOTS_BYTES])
    if cut:
        # Half a line has another meaning: "/private" becomes "/".
        text = text[: max(text.rfind(b"\n"), text.rfind(b"\r")) + 1]
    return text


def _without_mark(body: bytes) -> bytes:
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        # Section 2.2.2 permits other encodings; some editors save UTF-16.
        return body.decode("utf-16", "replace").encode()
    for size in (3, 2, 1):  # as in Google's parser, a part of the mark counts
        if body.startswith(b"\xef\xbb\xbf"[:size]):
            return body[size:]
    return body


class _Group(msgspec.Struct):
    """The rules of one agent, merged from all groups that name it."""

    named: bool = False
    open: bool = False
    rules: list[RobotsRule] = []
    crawl_delay_s: float | None = None


class _Reader:
    """A parser, line by line, of the rules for our agent and, as a fallback, those for "*"."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._ours = _Group()
        self._fallback = _Group()
        self._in_rules = False
        self._sitemaps: list[Url] = []

    def read(self, number: int, line: bytes) -> None:
        """Read one line; its name may be misspelt as Google's parser accepts it."""
        name, value = _split(line)
        match name:
            case b"user-agent" | b"useragent" | b"user agent":
                self._read_agent(value)
            case b"allow":
                self._read_rule(True, value, number)
            case b"disallow" | b"dissallow" | b"dissalow" | b"disalow" | b"diasllow" | b"disallaw":
                self._read_rule(False, value, number)
            case b"crawl-delay" | b"crawldelay" | b"crawl delay":
                self._read_delay(value)
            case b"sitemap" | b"site-map":
                self._read_sitemap(value)

    def result(self) -> RobotsRules:
        """Return the rules for our agent: of its own groups, or else of those for "*"."""
        group = self._ours if self._ours.named else self._fallback
        return RobotsRules(group.rules, group.crawl_delay_s, dict.fromkeys(self._sitemaps))

    def _read_agent(self, value: bytes) -> None:
        # Only rules end the list of agents, not other lines (section 2.2.4).
        if self._in_rules:
            self._in_rules = self._ours.open = self._fallback.open = False
        if value[:1] == b"*" and not value[1:2].strip():
            group = self._fallback
        elif product_token(value.decode("ascii", "replace")).lower() == self._agent:
            group = self._ours
        else:
            return
        group.named = group.open = True

    def _read_rule(self, allows: bool, path: bytes, number: int) -> None:
        self._in_rules = True
        groups = [group for group in (self._ours, self._fallback) if group.open]
        if len(path) > MAX_PATH_OCTETS:
            if allows:
                return
            path = _HALF_ESCAPE.sub(b"", path[:MAX_PATH_OCTETS])
        if groups and (rule := read_rule(allows, path, number)):
            for group in groups:
                group.rules.append(rule)

    def _read_sitemap(self, value: bytes) -> None:
        if len(self._sitemaps) < MAX_ANNOUNCED_SITEMAPS and len(value) <= MAX_PATH_OCTETS:
            url = normalise(value.decode("utf-8", "replace"))
            if url is not None:
                self._sitemaps.append(url)

    def _read_delay(self, value: bytes) -> None:
        try:
            delay_s = float(value)
        except ValueError:
            return
        if not delay_s >= 0:  # negative, or not a number
            return
        for group in (self._ours, self._fallback):
            if group.open:
                longest = max(delay_s, group.crawl_delay_s or 0.0)
                group.crawl_delay_s = min(longest, MAX_CRAWL_DELAY_S)


def _split(line: bytes) -> tuple[bytes, bytes]:
    """Return the name of a line, in lower case, and its value; an empty name if it has none."""
    text = line.partition(b"#")[0].strip()
    name, colon, value = text.partition(b":")
    if not colon:
        words = text.split()
        if len(words) != 2:
            return b"", b""
        name, value = words
    return name.strip().lower(), value.strip()


# The robots directives of a page: X-Robots-Tag headers and robots meta elements. No standard has
# their grammar. This follows what the large search engines document: lists of words separated by
# commas, some with a value after a colon, and in the header an agent's name before a colon. Words
# for all agents and words for us add up; nothing lifts a restriction.

_RESTRICTIONS: Final = frozenset({"nofollow", "none"})

_WITH_VALUE: Final = frozenset(
    {"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"}
)
"""Words with a value after a colon: in a header the colon does not make them an agent's name."""

_SEPARATOR = re.compile("[,;]")


def may_follow(agent: str, header_values: Sequence[str], metas: Sequence[tuple[str, str]]) -> bool:
    """Return whether an agent with this product token may follow the page's links.

    `header_values` are the values of all X-Robots-Tag fields, `metas` the name and the content of
    all meta elements that have both.
    """
    agent = agent.lower()
    words = [word for value in header_values for word in _header_words(agent, value)]
    for name, content in metas:
        if name.strip().lower() in {"robots", agent}:
            for part in _SEPARATOR.split(content.lower()):
                words += _directive_words(part)
    return _RESTRICTIONS.isdisjoint(words)


def _header_words(agent: str, value: str) -> Iterator[str]:
    """Yield the words of a header field that concern the agent.

    A name is valid until the next one: in "noindex, otherbot: nofollow, noarchive" the last two
    words are for otherbot alone.
    """
    concerned = True
    for part in _SEPARATOR.split(value.lower()):
        head, colon, tail = part.partition(":")
        name = head.strip()
        words = part
        if colon and name not in _WITH_VALUE and len(name.split()) == 1:
            concerned = name in {agent, "*"}
            words = tail
        if concerned:
            yield from _directive_words(words)


def _directive_words(part: str) -> list[str]:
    """Return the words between two commas, without a word that has a value and that value."""
    head, colon, tail = part.partition(":")
    if not colon:
        return head.split()
    return head.split()[:-1] + tail.split()[1:]
