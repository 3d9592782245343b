"""Traps at work: honest pages of the same host come first, and what is endless is stopped."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled
from tests.unit.policy.test_traps import calendar, maze, words_for
from tests.unit.views.reading import broken, explained, in_directory

from gossamer import Outcome
from gossamer.cli.explain import explanation_lines
from gossamer.display.summary import summary_text
from gossamer.model import Url
from gossamer.testing import Reply, Web
from gossamer.worker.traps import ASK_AFTER, SAVE_EVERY

Crawl = Callable[..., Crawled]


def serve(web: Web, site: Callable[[str], tuple[str, list[str]]]) -> None:
    """Serve a site that is described as a function, with 151 honest pages."""

    def answer(target: str) -> Reply:
        text, links = site(target)
        hrefs = "".join(f"<a href='{link}'>on</a>" for link in links)
        return Reply(headers={"Content-Type": "text/html"}, body=f"<p>{text}</p>{hrefs}")

    web.site("a.test").status("/robots.txt", 404)
    web.site("a.test").under("/", answer)


def honest_pages(crawled: Crawled) -> int:
    return sum("/page" in page.url for page in crawled.pages)


@pytest.mark.req("D19")
def test_finding_10_a_maze_leaves_the_honest_pages_of_its_host_their_turn(
    web: Web, crawl: Crawl
) -> None:
    serve(web, maze)
    crawled = crawl("http://a.test/", max_pages=200)
    assert honest_pages(crawled) == 150
    assert crawled.summary.ended_by == "max-pages"


def test_without_it_they_are_left(web: Web, crawl: Crawl) -> None:
    serve(web, maze)
    assert honest_pages(crawl("http://a.test/", max_pages=200, traps="off")) < 20


@pytest.mark.req("D19")
def test_finding_10_a_calendar_is_stopped_with_a_reason_and_a_start_later_knows_it(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    serve(web, calendar)
    crawl("http://a.test/", max_pages=300)
    crawled = crawl("http://a.test/", max_pages=1000)
    assert crawled.summary.ended_by == "complete"
    ends = Counter(crawled.outcomes().values())
    of_calendar = ends[Outcome.FETCHED] - 151
    assert of_calendar <= 299 + SAVE_EVERY + ASK_AFTER, "docs/traps.md, and what a start costs"
    assert ends[Outcome.TRAP] == 2, "the months before and after"
    assert "trap: pages of the same shape repeat one another; if they are wanted, --traps off" in (
        " ".join(summary_text(crawled.summary).split())
    )
    place = in_directory(tmp_path / "crawl")
    stopped = next(url for url, end in crawled.outcomes().items() if end is Outcome.TRAP)
    told = "\n".join(explanation_lines(explained(place, Url(stopped))))
    assert "pages like /calendar/N/N repeat others of their host (about" in told
    assert not broken(place)


@pytest.mark.req("D19")
def test_a_manual_that_is_translated_in_part_is_no_trap(web: Web, crawl: Crawl) -> None:
    """90 pages in four languages, of which all but the last one are those of the first."""
    paths = [f"/{lang}/p{number}" for lang in ("en", "es", "fr", "ko") for number in range(90)]

    def manual(path: str) -> tuple[str, list[str]]:
        is_translated = path.endswith("p89")
        return words_for(path if is_translated else path[-3:]), paths if path == "/" else []

    serve(web, manual)
    ends = Counter(crawl("http://a.test/", similarity="0.9").outcomes().values())
    assert ends == {Outcome.FETCHED: 1 + 90 + 3, Outcome.DUPLICATE: 3 * 89}


@pytest.mark.req("D19")
def test_finding_10_a_path_that_repeats_itself_is_out_of_scope(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    web.site("a.test").under("/", lambda target: Reply(body=f"{target} <a href='a/b/'>on</a>"))
    crawled = crawl("http://a.test/")
    assert [*crawled.urls][-1] == "http://a.test/a/b/a/b/a/b/"
    place = in_directory(tmp_path / "crawl")
    told = "\n".join(explanation_lines(explained(place, Url("http://a.test/a/b/a/b/a/b/a/b/"))))
    assert "traps: " in told
    assert "the same part of its path more than 3 times in a row" in told


@pytest.mark.req("D14")
def test_finding_10_max_host_pages_is_for_every_host_without_a_rule(web: Web, crawl: Crawl) -> None:
    names = ("a.test", "b.test", "own.test")
    for name in names:
        links = [f"/{number}" for number in range(9)]
        for path in ("/", *links):
            web.site(name).page(path, links)
    seeds = [f"http://{name}/" for name in names]
    crawled = crawl(*seeds, max_host_pages=3, host={"own.test": {"max-pages": 5}})
    hosts = Counter(page.url.split("/")[2] for page in crawled.pages)
    assert hosts == {"a.test": 3, "b.test": 3, "own.test": 5}
    assert crawled.summary.ended_by == "complete"


@pytest.mark.req("D19")
def test_finding_2_what_is_left_out_of_a_page_is_told(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    links = "".join(f"<a href={number}>" for number in range(1000))
    web.site("a.test").page("/", html=f"<base href='/{'x' * 8000}/'>{links}")
    crawl("http://a.test/", depth=0)
    place = in_directory(tmp_path / "crawl")
    told = " ".join(explanation_lines(explained(place, Url("http://a.test/"))))
    assert "fetched: 750 of its links are left out: a page may have 10,000 links and 2 MB" in told


@pytest.mark.req("D19")
def test_finding_2_what_a_host_has_too_much_of_is_told(
    web: Web, crawl: Crawl, tmp_path: Path
) -> None:
    links = [f"/{number}" for number in range(9)]
    for path in ("/", *links):
        web.site("a.test").page(path, links)
    crawled = crawl("http://a.test/", max_host_urls=4)
    assert (len(crawled.pages), crawled.summary.ended_by) == (4, "complete")
    left_out = "24 links to hosts with too many URLs; raise --max-host-urls"
    assert left_out in summary_text(crawled.summary)
    place = in_directory(tmp_path / "crawl")
    assert f"or it is one of {left_out}" in "\n".join(
        explanation_lines(explained(place, Url("http://a.test/8")))
    )
    assert not broken(place)
