"""The hosts of the simulated web, drawn from the seed and their names, and their honest pages."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from gossamer.testing.simulator.content import LANGUAGES, Language
from gossamer.testing.simulator.fault import FAULT_PATH, Fault, draws
from gossamer.testing.site import TEXT_TYPE, Reply

_NUMBERED = re.compile(r"h(0|[1-9][0-9]{0,11})")
_FAN_OUT = 8
_SIZE_OF_NAMED = 6
_NUMBER = re.compile(r"/(?:private/)?p([1-9][0-9]{0,11})\.html")
_MOVED = re.compile(r"/moved/([1-9][0-9]{0,11})")
_WORDS_A_PAGE = 120
_SITEMAP = "/sitemap.xml"
_NEAR_COPY = 0.03
"""The share of pages that are the page before them with a word changed."""


class HostProfile(msgspec.Struct, frozen=True, kw_only=True):
    """One host of the simulated web."""

    label: str
    """Its name before the domain."""
    size: int
    """How many honest pages it has."""
    latency_s: float
    language: Language
    has_robots: bool
    """Whether its robots.txt forbids every tenth page."""
    has_sitemap: bool
    fault: Fault | None = None

    def is_private(self, page: int) -> bool:
        """Return whether robots.txt forbids the page."""
        return self.has_robots and page % 10 == 9

    def children(self, page: int) -> Iterator[int]:
        """Yield the pages that a page leads to: each is reached, also past forbidden ones."""
        return heap_children(page, self.size, self.is_private)


def heap_children(number: int, size: int, is_closed: Callable[[int], bool]) -> Iterator[int]:
    """Yield the children of a number in a tree of all numbers, and those of closed children."""
    first = _FAN_OUT * number + 1
    for child in range(first, min(first + _FAN_OUT, size)):
        yield child
        if is_closed(child):
            yield from heap_children(child, size, is_closed)


class Hosts:
    """The profiles of all hosts, none of which is stored.

    Hosts h0, h1 … have sizes by a power law, h0 the largest, and some of them a fault; a host that
    is called like a fault has that fault.
    """

    def __init__(
        self,
        seed: int,
        count: int,
        largest: int,
        shares: Mapping[str, float],
        faults: Mapping[str, Fault],
    ) -> None:
        self._seed = seed
        self._count = count
        self._largest = largest
        self._shares = shares
        self._faults = faults

    def find(self, label: str) -> HostProfile | None:
        """Return the host of that name; None if there is none."""
        if label in self._faults:
            return self._profile(label, _SIZE_OF_NAMED, self._faults[label])
        match = _NUMBERED.fullmatch(label)
        return self.numbered(int(match[1])) if match and int(match[1]) < self._count else None

    def numbered(self, number: int) -> HostProfile:
        """Return the host of that rank."""
        size = max(1, round(self._largest * (number + 1) ** -0.8))
        return self._profile(f"h{number}", size, self.fault_of(number))

    def fault_of(self, number: int) -> Fault | None:
        """Return the fault of a host of that rank; h0 has none."""
        drawn = draws(f"{self._seed} fault {number}")() if number else 1.0
        for name, share in self._shares.items():
            drawn -= share
            if drawn < 0:
                return self._faults[name]
        return None

    def neighbours(self, number: int) -> Iterator[int]:
        """Yield the hosts that a host links to: each is reached, also past faulty ones."""
        return heap_children(number, self._count, lambda host: self.fault_of(host) is not None)

    def _profile(self, label: str, size: int, fault: Fault | None) -> HostProfile:
        draw = draws(f"{self._seed} host {label}")
        return HostProfile(
            label=label,
            size=size,
            # Most answer at once, a few take a tenth of a second.
            latency_s=0.1 * draw() ** 6,
            language=LANGUAGES[int(draw() * len(LANGUAGES))],
            has_robots=draw() < 0.3,
            has_sitemap=draw() < 0.3,
            fault=fault,
        )


class HonestPages:
    """What a host answers when it plays no fault: the same at every request, and nothing stored."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def answer(
        self, host: HostProfile, origin: str, target: str, elsewhere: Iterable[str]
    ) -> Reply:
        """Return the answer; `elsewhere` are the URLs that the home page links to."""
        if target == "/robots.txt":
            return _robots(host, origin)
        if target == _SITEMAP and host.has_sitemap:
            return _sitemap(host, origin)
        moved = _MOVED.fullmatch(target)
        if moved and int(moved[1]) < host.size:
            return Reply(
                status=(301, 302, 303, 307, 308)[int(moved[1]) % 5],
                headers={"Location": page_path(host, int(moved[1]))},
                delay_s=host.latency_s,
            )
        page = page_number(host, target)
        if page is None:
            return Reply(status=404, headers={"Content-Type": TEXT_TYPE}, body="Not found.\n")
        return self._page(host, page, [] if page else elsewhere)

    def _page(self, host: HostProfile, page: int, elsewhere: Iterable[str]) -> Reply:
        links = [*(_link(host, child) for child in host.children(page)), "/", *elsewhere]
        if page == 0:
            links += [*([FAULT_PATH] if host.fault else []), "/missing.html"]
        language = host.language
        items = "".join(f'<li><a href="{link}">{link}</a>\n' for link in links)
        meta = "" if language.in_header else f'<meta charset="{language.charset}">'
        html = (
            f'<!doctype html>\n<html lang="{language.code}"><head>{meta}'
            f"<title>{host.label} {page}</title></head>\n<body><h1>{page}</h1>\n"
            f"<main><p>{self._text(host, page)}</p></main>\n<ul>\n{items}</ul></body></html>\n"
        )
        named = f"; charset={language.charset}" if language.in_header else ""
        return Reply(
            headers={"Content-Type": f"text/html{named}"},
            body=html.encode(language.charset),
            delay_s=host.latency_s,
        )

    def _text(self, host: HostProfile, page: int) -> str:
        draw = draws(f"{self._seed} text {host.label} {page}")
        words = host.language.words
        if page > 1 and draw() < _NEAR_COPY:
            return f"{self._text(host, page - 1)} {words[int(draw() * len(words))]}"
        return " ".join(words[int(draw() * len(words))] for _ in range(_WORDS_A_PAGE))


def page_path(host: HostProfile, page: int) -> str:
    """Return the path of a page of the host."""
    if page == 0:
        return "/"
    return f"/private/p{page}.html" if host.is_private(page) else f"/p{page}.html"


def page_number(host: HostProfile, target: str) -> int | None:
    """Return the page of exactly this path; None if there is none."""
    match = _NUMBER.fullmatch(target)
    page = int(match[1]) if match else 0
    return page if page < host.size and page_path(host, page) == target else None


def _link(host: HostProfile, page: int) -> str:
    """Return the link to a page: some have moved."""
    return f"/moved/{page}" if page % 7 == 3 else page_path(host, page)


def _robots(host: HostProfile, origin: str) -> Reply:
    lines = ["User-agent: *", "Disallow: /private/"] if host.has_robots else []
    lines += [f"Sitemap: {origin}{_SITEMAP}"] if host.has_sitemap else []
    if not lines:
        return Reply(status=404)
    return Reply(headers={"Content-Type": TEXT_TYPE}, body="\n".join([*lines, ""]))


def _sitemap(host: HostProfile, origin: str) -> Reply:
    public = (page for page in range(min(host.size, 10_000)) if not host.is_private(page))
    urls = "".join(f"<url><loc>{origin}{page_path(host, page)}</loc></url>\n" for page in public)
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    return Reply(headers={"Content-Type": "application/xml"}, body=body)
