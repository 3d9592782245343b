"""Pages that say nearly the same are kept once: from the socket to `explain` and `verify`."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled
from tests.unit.views.reading import broken, explained, in_directory, listed_urls

from gossamer.cli.explain import explanation_lines
from gossamer.model import Outcome, Page, Url
from gossamer.modules.contract import Module
from gossamer.testing import Web

Crawl = Callable[..., Crawled]

ARTICLE = [f"sentence number {number} speaks of topic {number * 7}." for number in range(150)]


def article(*, changed: int = 0, link: str = "/more") -> str:
    """Return a page of which so many of 150 sentences are others."""
    sentences = [*ARTICLE[changed:], *(f"something new is said {n * 31}." for n in range(changed))]
    return f"<p>{' '.join(sentences)}</p><a href={link}>more</a>"


def framed(number: int, *, advertisement: int = 0) -> str:
    """Return a page with a long menu and a few sentences of its own."""
    menu = " ".join(f"<li><a href=#{n}>Chapter {n} on matter {n * 3}</a></li>" for n in range(600))
    said = " ".join(f"{number} words, of {n * number}, are said here only." for n in range(1, 31))
    shown = f"<aside>Buy {advertisement} things, and be happy</aside>"
    return f"<nav><ul>{menu}</ul></nav><main><h1>{number}</h1><p>{said}</p></main>{shown}"


def describe(web: Web) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/two", "/three"])
    site.page("/one", html=article())
    site.page("/two", html=article(changed=3, link="/behind-two"))
    site.page("/three", html=article(changed=75, link="/behind-three"))
    for path in ("/more", "/behind-two", "/behind-three"):
        site.page(path)


@pytest.mark.req("D9", "B8")
def test_a_page_much_like_another_is_not_kept_or_shown(web: Web, crawl: Crawl) -> None:
    describe(web)
    shown: list[Page] = []
    module = Module(name="reader", page=shown.append, on_loop=True, in_coordinator=True)
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo", modules=[module])
    assert crawled.summary.snapshot.outcomes == {"fetched": 6, "similar": 1}
    two = crawled.urls[Url("http://a.test/two")]
    one = crawled.urls[Url("http://a.test/one")]
    assert (two.outcome, two.page_id, two.duplicate_of) == (Outcome.SIMILAR, None, one.page_id)
    assert sorted(page.id for page in shown) == [1, 2, 3, 4, 5, 6]
    assert "http://a.test/two" not in {page.url for page in shown}


@pytest.mark.req("D9")
@pytest.mark.parametrize("modules", [0, 1])
@pytest.mark.parametrize(("similar_links", "known"), [(None, True), ("ignore", False)])
def test_its_links_are_followed_unless_they_are_to_be_ignored(
    web: Web, crawl: Crawl, tmp_path: Path, similar_links: str | None, modules: int, *, known: bool
) -> None:
    describe(web)
    web.site("a.test").page("/more", links=["/copy"])
    web.site("a.test").page("/copy", html=article())
    options = {} if similar_links is None else {"similar_links": similar_links}
    pages: list[Page] = []
    module = Module(name="reader", page=pages.append, on_loop=True, in_coordinator=True)
    shown = {"modules": [module]} if modules else {}
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo", **shown, **options)
    assert ("http://a.test/behind-two" in crawled.urls) is known
    if known:
        behind = crawled.urls[Url("http://a.test/behind-two")]
        assert (behind.depth, behind.outcome) == (2, Outcome.FETCHED)
    assert crawled.urls[Url("http://a.test/copy")].outcome is Outcome.DUPLICATE
    assert broken(in_directory(tmp_path / "crawl")) == {}


@pytest.mark.req("D9", "B8")
def test_a_shared_frame_does_not_make_pages_similar(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/1", "/2", "/3", "/again"])
    for number in (1, 2, 3):
        site.page(f"/{number}", html=framed(number))
    site.page("/again", html=framed(2, advertisement=5))
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo")
    assert crawled.summary.snapshot.outcomes == {"fetched": 4, "similar": 1}
    again, two = (crawled.urls[Url(f"http://a.test/{name}")] for name in ("again", "2"))
    assert (again.outcome, again.duplicate_of) == (Outcome.SIMILAR, two.page_id)


@pytest.mark.req("D9", "B8")
def test_a_page_waits_for_a_similar_one_that_is_at_its_modules(web: Web, crawl: Crawl) -> None:
    site = web.site("a.test")
    site.page("/", links=["/1", "/2", "/more"])
    site.page("/more")
    site.page("/1", html=article())
    site.page("/2", html=article(changed=3))

    async def slow(page: Page) -> None:
        await asyncio.sleep(0.3)

    module = Module(name="slow", page=slow, on_loop=True, in_coordinator=True)
    crawled = crawl("http://a.test/", similarity="0.9", host_connections="2", modules=[module])
    assert crawled.summary.snapshot.outcomes == {"fetched": 3, "similar": 1}


@pytest.mark.req("D9", "B5")
def test_explain_and_verify_know_which_page_it_is_like(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    describe(web)
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo")
    stored = in_directory(tmp_path / "crawl")
    found = explained(stored, "http://a.test/two")
    assert found.outcome is Outcome.SIMILAR
    number = crawled.urls[Url("http://a.test/one")].page_id
    repeated = found.duplicate_of
    assert repeated is not None
    assert (repeated.id, repeated.url) == (number, "http://a.test/one")
    assert 0.9 <= repeated.similarity < 1
    assert 0.9 <= repeated.own_similarity < 1
    whole, own = (int(100 * one) for one in (repeated.similarity, repeated.own_similarity))
    assert found.detail == f"{whole} % like page {number}, {own} % in its own content"
    assert broken(stored) == {}
    (listed,) = [one for one in listed_urls(stored) if one.url == "http://a.test/two"]
    assert listed.duplicate_of == repeated
    told = "\n".join(explanation_lines(found))
    assert f"similar: {found.detail}" in told
    assert "repeats" in told
    assert "http://a.test/one" in told
    assert f"page {number}; {100 * repeated.similarity:.4g} % of the whole text is alike" in told


@pytest.mark.req("D9")
@pytest.mark.parametrize(("similarity", "similar"), [("0.9", 1), ("0.3", 2), ("1", 0), ("off", 0)])
def test_the_option_says_how_much_alike(
    web: Web, crawl: Crawl, similarity: str, similar: int
) -> None:
    describe(web)
    crawled = crawl("http://a.test/", similarity=similarity, scorer="fifo")
    assert crawled.summary.snapshot.outcomes.get("similar", 0) == similar


@pytest.mark.req("D9")
@pytest.mark.parametrize(("similarity", "duplicates"), [("1", 1), ("off", 0)])
def test_the_same_content_is_a_duplicate_unless_similarity_is_off(
    web: Web, crawl: Crawl, similarity: str, duplicates: int
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/two"])
    site.page("/one", html=article())
    site.page("/two", html=article())
    crawled = crawl("http://a.test/", similarity=similarity)
    assert crawled.summary.snapshot.outcomes.get("duplicate", 0) == duplicates
    assert crawled.summary.snapshot.pages == 3 - duplicates


@pytest.mark.req("D9", "D10")
def test_likeness_is_remembered_when_a_crawl_goes_on(web: Web, crawl: Crawl) -> None:
    describe(web)
    crawl("http://a.test/", similarity="0.9", scorer="fifo", max_pages=2)
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo")
    assert crawled.summary.snapshot.outcomes == {"fetched": 6, "similar": 1}
    assert crawled.urls[Url("http://a.test/two")].duplicate_of == 2
