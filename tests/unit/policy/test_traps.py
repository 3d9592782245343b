"""The decision about traps: which are stopped after how many pages, and what is none."""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from urllib.parse import urljoin

import pytest

from gossamer.content.similarity import text_template_hash
from gossamer.model import Url
from gossamer.policy.traps import (
    MAX_PAGES,
    MAX_SHAPES,
    SAMPLED,
    HostTraps,
    TrapVisit,
    group_of,
    shape_of,
)
from gossamer.urls.scope import loop_in

HOME = Url("http://h/")
ENDLESS = 20_000
"""Who has fetched so many pages of a trap was not stopped."""

LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")

Site = Callable[[str], tuple[str, list[str]]]
"""The text and the links of a page, by its path."""


def words_for(seed: object, number: int = 30) -> str:
    """Return a text of its own for everything."""
    numbers = Random(str(seed)).randbytes(4 * number).hex()  # noqa: S311
    letters = numbers.translate(LETTERS)
    return " ".join(letters[start : start + 8] for start in range(0, len(letters), 8))


def crawl(site: Site, most: int = ENDLESS) -> tuple[list[str], list[str]]:
    """Crawl a host breadth first, as a worker does: return what was fetched, and what was not.

    What is suspected is put behind everything else, once.
    """
    host, known, menu = HostTraps(), {HOME}, frozenset[Url]()
    waiting, last = deque([HOME]), deque[Url]()
    fetched, stopped = list[str](), list[str]()
    while (waiting or last) and len(fetched) < most:
        is_deferred = not waiting
        url = (waiting or last).popleft()
        verdict = host.judge(url)
        if verdict.stop:
            stopped.append(url)
            continue
        if verdict.cause is not None and not is_deferred:
            last.append(url)
            continue
        fetched.append(url)
        text, links = site(url[len("http://h") :])
        found = dict.fromkeys(Url(urljoin(url, link)) for link in links)
        new = [link for link in found if link not in known and not loop_in(link)]
        if host.examines_next:
            own = [
                link
                for link in found
                if link != url and group_of(link) == group_of(url) and not host.knows(link)
            ]
            visit = TrapVisit(
                url=url,
                repeats=None,
                text_template_hash=text_template_hash(text, url),
                new=sum(link in new for link in own),
                known=sum(link in known and link not in menu for link in own),
            )
            host.note(visit)
            menu = frozenset(own)
        else:
            host.pass_over()
        known.update(new)
        waiting.extend(new)
    return fetched, stopped


HONEST = [f"/page{number}" for number in range(150)]


def honest(path: str, *more: str) -> tuple[str, list[str]]:
    """Return one of 150 pages, a chain in which each leads to the next one: the worst order."""
    number = 0 if path == "/" else int(path.removeprefix("/page")) + 1
    return words_for(path), [*HONEST[number : number + 1], *more]


def is_honest(path: str) -> bool:
    return path == "/" or path in HONEST


def calendar(path: str) -> tuple[str, list[str]]:
    if is_honest(path):
        return honest(path, "/calendar/2026/11")
    year, month = map(int, path.split("/")[2:])
    months = "January February March April May June July August September October November December"
    text = f"{months.split()[month - 1]} {year} Mon Tue Wed Thu Fri Sat Sun {[*range(1, 31)]}"
    steps = [divmod(12 * year + month - 1 + step, 12) for step in (-1, 1)]
    return text, [f"/calendar/{year}/{month + 1}" for year, month in steps]


def session_parameters(path: str) -> tuple[str, list[str]]:
    """Every page gives all links a new key, under a name that nobody knows."""
    page = path.partition("?")[0]
    text, links = honest(page)
    key = f"{Random(path).getrandbits(64):016x}"  # noqa: S311
    return text, [f"{link}?visit={key}" for link in [*links, "/", "/page1"]]


def session_numbers(path: str) -> tuple[str, list[str]]:
    """The same with keys that are numbers, most of nine or ten digits, as times are."""
    text, links = honest(path.partition("?")[0])
    key = Random(path).getrandbits(30)  # noqa: S311
    return text, [f"{link}?visit={key}" for link in [*links, "/", "/page1"]]


def session_segments(path: str) -> tuple[str, list[str]]:
    key = f"{Random(path).getrandbits(64):016x}"  # noqa: S311
    if is_honest(path):
        return honest(path, f"/{key}/shop/a", f"/{key}/shop/b")
    page = path.rpartition("/")[2]
    return f"The shop sells good things, among them {page}", [f"/{key}/shop/a", f"/{key}/shop/b"]


def maze(path: str) -> tuple[str, list[str]]:
    if is_honest(path):
        return honest(path, "/maze/start")
    names = Random(path)  # noqa: S311
    links = ["".join(names.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(8)]
    return words_for(path), [f"/maze/{links[0]}/{link}" for link in links] + ["/maze/start"]


def soft_404(path: str) -> tuple[str, list[str]]:
    """Every unknown URL has the same text, and links to two more."""
    if is_honest(path):
        return honest(path, "/missing/one")
    names = Random(path)  # noqa: S311
    links = [f"/missing/{''.join(names.choices('aeiou', k=12))}" for _ in range(2)]
    return f"Sorry, the page {path} was not found on our server", links


def growing_query(path: str) -> tuple[str, list[str]]:
    if is_honest(path):
        return honest(path, "/list?color=1")
    links = [f"{path}&color={number}" for number in (2, 3)]
    return "All our things in all colours, sizes and shapes that there are", links


def relative_loop(path: str) -> tuple[str, list[str]]:
    """A page that answers for every path below it, with a link that is relative."""
    if is_honest(path):
        return honest(path, "/loop/")
    return words_for(path), ["a/b/"]


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("site", "most"),
    [
        (calendar, 310),
        (session_parameters, 450),
        (session_numbers, 450),
        (session_segments, 260),
        (maze, 350),
        (soft_404, 260),
        (growing_query, 260),
        (relative_loop, 5),
    ],
)
def test_a_trap_is_stopped_and_all_honest_pages_come_first(site: Site, most: int) -> None:
    fetched, stopped = crawl(site)
    pages = [url.removeprefix("http://h").partition("?")[0] for url in fetched]
    assert set(HONEST) <= set(pages)
    assert len(pages) - 151 <= most, "the numbers of docs/traps.md"
    assert stopped or site is relative_loop
    before = pages.index(HONEST[-1]) - 150
    assert before < 100, "so many pages of the trap came before the last honest one"


def products(path: str) -> tuple[str, list[str]]:
    """10,000 numbered products in lists of 50, each of which leads to three others."""
    if path == "/":
        return "home", ["/list?page=1"]
    number = int(path.rpartition("=")[2] if "?" in path else path.rpartition("/")[2])
    if "?" in path:
        found = [f"/product/{50 * number - one}" for one in range(50)]
        return words_for(path), [*found, *[f"/list?page={number + 1}"][: number < 200]]
    others = Random(path).sample(range(1, 10_001), 3)  # noqa: S311
    return words_for(path), [f"/product/{other}" for other in others]


def blog(path: str) -> tuple[str, list[str]]:
    """Ten years of posts, with an archive by months, most of which have some."""
    if path == "/":
        return "home of the blog", ["/archive/2016/1"]
    if path.startswith("/post"):
        return words_for(path), ["/"]
    year, month = map(int, path.split("/")[2:])
    posts = [f"/post/{year}/{month}/{number}" for number in range((year * month) % 7)]
    following = 12 * year + month
    text = f"Archive of the blog: {' '.join(words_for(one, 6) for one in posts)}"
    after = [f"/archive/{following // 12}/{following % 12 + 1}"][: following < 12 * 2026]
    return text, [*posts, *after]


def library(path: str) -> tuple[str, list[str]]:
    """20,000 pages of random names, of which each is linked from several."""
    if path == "/":
        return "home", [f"/article/{number * 7919:08x}" for number in range(50)]
    number = int(path.rpartition("/")[2], 16) // 7919
    found = [7 * number + one for one in range(7)] + [number // 7]
    return words_for(path), [f"/article/{one * 7919:08x}" for one in found if one < 20_000]


@pytest.mark.req("D19")
@pytest.mark.parametrize(("site", "pages"), [(products, 10_201), (blog, 425), (library, 20_001)])
def test_an_honest_site_is_fetched_whole(site: Site, pages: int) -> None:
    fetched, stopped = crawl(site, 30_000)
    assert (len(fetched), stopped) == (pages, [])


def test_what_is_counted_of_a_host_is_bounded_and_a_trap_is_not_forgotten() -> None:
    host = HostTraps()
    texts = (f"http://h/trap/{number}" for number in count())
    for _ in range(300):
        host.note(_visit(next(texts), repeats=1))
    for number in range(3 * MAX_SHAPES):
        host.note(_visit(f"http://h/d{'x' * number}/1?a{'y' * number}=1", words=number + 1))
    assert max(len(host.shapes), len(host.mazes)) <= MAX_SHAPES
    assert host.judge(Url("http://h/trap/301")).stop
    assert host.judge(Url("http://h/else/301")).cause is None


def test_a_shape_with_many_good_pages_is_forgiven_more() -> None:
    def repeats(good: int) -> int:
        host, urls = HostTraps(), (f"http://h/p/{number}" for number in count())
        for number in range(good):
            host.note(_visit(next(urls), words=number + 1))
        return next(at for at, url in enumerate(urls) if _stops(host, url))

    assert (repeats(0), repeats(1000 // SAMPLED)) == (51, 151)


def test_a_mirror_repeats_each_page_once_and_is_no_trap() -> None:
    host = HostTraps()
    for number in [*range(MAX_PAGES), *range(MAX_PAGES)]:  # it is visited again as well
        host.note(_visit(f"http://h/es/{number}", repeats=number))
    assert host.judge(Url("http://h/es/9999")).cause is None
    for number in range(50):
        host.note(_visit(f"http://h/es/{MAX_PAGES + number}", repeats=7))
    assert host.judge(Url("http://h/es/9999")).stop
    host.note(_visit("http://h/else/1", repeats=7))
    assert len(host.repeats) == MAX_PAGES


def test_a_page_under_another_key_of_a_session_is_no_mirror() -> None:
    host = HostTraps()
    for number in range(50):
        host.note(_visit(f"http://h/p{number}?visit=9f86d081884c7d65", words=number + 1))
    for number in range(50):
        host.note(_visit(f"http://h/p{number}?visit=60303ae22b998861", repeats=number))
    assert host.judge(Url("http://h/p1?visit=fd61a03af4f77d87")).stop


def _stops(host: HostTraps, url: str) -> bool:
    is_stopped = host.judge(Url(url)).stop
    host.note(_visit(url, repeats=1))
    return is_stopped


def _visit(url: str, *, words: int = 0, repeats: int | None = None) -> TrapVisit:
    return TrapVisit(url=Url(url), repeats=repeats, text_template_hash=words, new=0, known=0)


@pytest.mark.parametrize(
    ("path", "template", "sessions"),
    [
        ("/about", "/*", ()),
        ("/std/vec/struct.Vec.html", "/std/*", ()),
        ("/calendar/2026/11", "/calendar/N/N", ()),
        ("/list?page=17&sort=up", "/list?page&sort", ()),
        ("/s/9f86d081884c7d65/cart", "/s/X/cart", ("/s/X/*",)),
        ("/cart/7?visit=9f86d081884c7d65", "/cart/N?visit", ("*?visit=X",)),
        ("/shop?a=1&b=1&c=1&d=1&e=1", "/shop?…", ()),
    ],
)
def test_shapes(path: str, template: str, sessions: tuple[str, ...]) -> None:
    shape = shape_of(Url(f"http://h{path}"))
    assert (shape.template, shape.sessions) == (template, sessions)


def _loops() -> Iterator[tuple[str, bool]]:
    yield "/a/a/a/b", False
    yield "/a/a/a/a", True
    yield "/x/a/b/a/b/a/b/c", False
    yield "/x/a/b/a/b/a/b/a/b", True
    yield "/a/b/c/a/b/c/a/b/c/a/b/c", True
    yield "/tiles/0/0/0/0/0/0.png", False
    yield "/" + "/".join(f"s{number}" for number in range(51)), True
    yield "/q?" + "&".join("a=1" for _ in range(51)), True
    yield "/q?" + "&".join("a=1" for _ in range(50)), False


@pytest.mark.parametrize(("path", "is_loop"), [*_loops()])
def test_loops(path: str, *, is_loop: bool) -> None:
    assert bool(loop_in(Url(f"http://h{path}"))) is is_loop


def test_no_sample_is_missed_where_pages_are_read_before_others_are_counted() -> None:
    """Without a pause a page is read while the one before it is still being stored."""
    traps, examined = HostTraps(), 0
    page = TrapVisit(url=Url("http://a.test/"), repeats=None, text_template_hash=0, new=0, known=0)
    traps.note(page)
    for _ in range(40):
        for is_examined in [traps.examines_next, traps.examines_next]:
            examined += is_examined
            if is_examined:
                traps.note(page)
            else:
                traps.pass_over()
    assert 80 / SAMPLED <= examined <= 2 * 80 / SAMPLED
