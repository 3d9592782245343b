"""The pages of the synthetic web: their links, in various spellings, and their text."""

from collections.abc import Callable

from tests.webs.graph.layout import Layout

from gossamer.testing.simulator.fault import NextRandom, draws

_SENTENCES = 1000
_LINES = range(10)
_SYLLABLES = ("ga", "li", "mo", "ne", "po", "ra", "sil", "ta", "thre", "un", "ve", "wo")


class Pages:
    """The generator of pages, which returns the same page at every request.

    Links lead mostly to neighbours and children on the same host, some to other hosts; some are
    repeated, some lead back to the page. A calendar is entered at its home page, and each of its
    pages leads to the day before and after only. No two pages have more than a few sentences in
    common.
    """

    def __init__(self, seed: int, layout: Layout, calendars: frozenset[int]) -> None:
        self._seed = seed
        self._layout = layout
        self._calendars = calendars
        draw = draws(f"{seed} sentences")
        self._sentences = [_sentence(draw) for _ in range(_SENTENCES)]

    def targets(self, page: int) -> list[int]:
        """Return the pages that a page links to, in order and with repetitions."""
        return self._targets(page, self._draws(page))

    def html(self, page: int) -> str:
        """Return the page as it is served."""
        draw = self._draws(page)
        host = self._layout.host_of(page)
        targets = self._targets(page, draw)
        links = [
            self._link(host, target, int(draw() * _MANNERS)) if target != page else "#top"
            for target in targets
        ]
        items = "".join([f'<li><a href="{link}">on</a>\n' for link in links])
        text = " ".join([self._sentences[int(draw() * _SENTENCES)] for _ in _LINES])
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>Page {page}</title></head>\n<body><h1>Page {page}</h1>\n"
            f"<p>{text}</p>\n<ul>\n{items}</ul></body></html>\n"
        )

    def _draws(self, page: int) -> NextRandom:
        return draws(self._seed << 32 | page)

    def _targets(self, page: int, draw: NextRandom) -> list[int]:
        host = self._layout.host_of(page)
        home, size = self._layout.firsts[host], self._layout.sizes[host]
        number = page - home
        if host in self._calendars:
            return [home + max(number - 1, 0), home + min(number + 1, size - 1)]
        found = []
        for _ in range(3 + int(draw() * 8)):
            way, where = draw(), draw()
            if way < 0.35:  # a neighbour
                found.append(home + (number - 5 + int(where * 16)) % size)
            elif way < 0.65:  # a child in the tree in which every page has four
                found.append(home + (4 * number + 1 + int(where * 4)) % size)
            elif way < 0.85:  # anywhere, but the first pages are the best known
                found.append(home + int(where * where * size))
            else:
                found.append(self._elsewhere(where, draw()))
        if draw() < 0.2:
            found.append(found[0])
        return found

    def _elsewhere(self, which_host: float, which_page: float) -> int:
        """Return a page of any host: half of the time, and always of a calendar, its home page."""
        host = int(which_host * len(self._layout.sizes))
        home, size = self._layout.firsts[host], self._layout.sizes[host]
        if which_page < 0.5 or host in self._calendars:
            return home
        return home + int((2 * which_page - 1) * size)

    def _link(self, page_host: int, target: int, manner: int) -> str:
        """Return a link as written in a page: the short form, or one of the odd spellings."""
        host, path = self._layout.locate(target)
        path = path.replace("&", "&amp;")
        if manner < len(_ODD_SPELLINGS):
            return _ODD_SPELLINGS[manner](self._layout.host_names[host], path)
        return path if host == page_host else f"http://{self._layout.host_names[host]}{path}"


_MANNERS = 20
"""Each odd spelling is used in one of this many links."""
_ODD_SPELLINGS: tuple[Callable[[str, str], str], ...] = (
    lambda name, path: f"http://{name.upper()}{path}",
    lambda name, path: f"http://{name}:80{path}",
    lambda name, path: f"HTTP://{name}/.{path}",
    lambda name, path: f"//{name}/elsewhere/..{path}",
    lambda name, path: f"http://{name}{path}#part",
    lambda name, path: f"http://{name}{path.replace('~', '%7E').replace('.', '%2e')}",
    lambda name, path: f" http://{name}{path if path != '/' else ''}\n",
    lambda name, path: f"http:\\\\{name}{path}",
)
"""Spellings of a URL that browsers, and so crawlers, understand."""


def _sentence(draw: NextRandom) -> str:
    words = [
        "".join(_SYLLABLES[int(draw() * len(_SYLLABLES))] for _ in range(1 + int(draw() * 3)))
        for _ in range(6 + int(draw() * 8))
    ]
    return f"{' '.join(words).capitalize()}."
