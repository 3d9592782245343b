"""Pages that say nearly the same are kept once: from the socket to `explain` and `verify`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled
from tests.unit.views.reading import broken, explained, in_directory

from gossamer.cli.explain import explanation_lines
from gossamer.model import Outcome, Page, Url
from gossamer.modules import Module
from gossamer.testing import Web

Crawl = Callable[..., Crawled]

ARTICLE = [f"sentence number {number} speaks of topic {number * 7}." for number in range(150)]


def article(*, changed: int = 0, link: str = "/more") -> str:
    """Return a page of which so many of 150 sentences are others."""
    sentences = [*ARTICLE[changed:], *(f"something new is said {n * 31}." for n in range(changed))]
    return f"<p>{' '.join(sentences)}</p><a href={link}>more</a>"


def describe(web: Web) -> None:
    site = web.site("a.test")
    site.page("/", links=["/one", "/two", "/three"])
    site.page("/one", html=article())
    site.page("/two", html=article(changed=3, link="/behind-two"))
    site.page("/three", html=article(changed=75, link="/behind-three"))
    for path in ("/more", "/behind-two", "/behind-three"):
        site.page(path)


@pytest.mark.req("D9", "B8")
def test_a_page_much_like_another_is_not_kept_shown_or_followed(web: Web, crawl: Crawl) -> None:
    describe(web)
    shown: list[Page] = []
    module = Module(name="reader", page=shown.append, on_loop=True, in_coordinator=True)
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo", modules=[module])
    assert crawled.summary.snapshot.outcomes == {"fetched": 5, "similar": 1}
    two = crawled.urls[Url("http://a.test/two")]
    one = crawled.urls[Url("http://a.test/one")]
    assert (two.outcome, two.page_id, two.duplicate_of) == (Outcome.SIMILAR, None, one.page_id)
    assert "http://a.test/behind-two" not in crawled.urls
    assert "http://a.test/behind-three" in crawled.urls
    assert sorted(page.id for page in shown) == [1, 2, 3, 4, 5]
    assert "http://a.test/two" not in {page.url for page in shown}


@pytest.mark.req("D9", "B5")
def test_explain_and_verify_know_which_page_it_is_like(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    describe(web)
    crawled = crawl("http://a.test/", similarity="0.9", scorer="fifo")
    stored = in_directory(tmp_path / "crawl")
    found = explained(stored, "http://a.test/two")
    assert found.outcome is Outcome.SIMILAR
    assert found.repeats is not None
    assert found.repeats.url == "http://a.test/one"
    percent, _, rest = found.detail.partition(" % ")
    assert rest == f"like page {crawled.urls[Url('http://a.test/one')].page_id}"
    assert 90 <= int(percent) < 100
    assert broken(stored) == {}
    told = "\n".join(explanation_lines(found))
    assert f"similar: {found.detail}" in told
    assert "repeats" in told
    assert "http://a.test/one" in told


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
    assert crawled.summary.snapshot.outcomes == {"fetched": 5, "similar": 1}
    assert crawled.urls[Url("http://a.test/two")].duplicate_of == 2
