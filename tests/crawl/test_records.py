"""Records, links and ends: what the hooks of modules give travels with the settlement."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from crawled import Crawled, stored_results

from gossamer import FinishedUrl, FollowedLink, Outcome, Page, Url
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.url_record import Result
from gossamer.testing import Web

Crawl = Callable[..., Crawled]

pytestmark = pytest.mark.req("B9", "D12")

SCRAPER = """
from gossamer import FollowedLink

class Scraper:
    def page(self, page):
        yield {"title": page.title}
        yield {"url": page.url, "links": len(page.links)}

    def links(self, page, links):
        for link in links:
            if "/skip" not in link.url:
                yield link
        if page.depth == 0:
            yield "/hidden"
            yield FollowedLink("http://elsewhere.test/", 1)

    def finished(self, result):
        if result.status == 404:
            return {"broken": result.url, "on": result.found_on, "attempts": result.attempts}
"""


@pytest.fixture
def seed(web: Web) -> str:
    site = web.site("a.test")
    site.page("/", links=["/1", "/skip/1", "/missing", "/old", "/same"], title="Home")
    site.page("/1", links=["/", "/skip/2", "/far"], title="One")
    site.page("/hidden", title="Hidden", links=["/missing"])
    site.page("/far", title="Far")
    site.page("/skip/1", title="not wanted")
    site.page("/skip/2", title="not wanted")
    site.redirect("/old", "/1")
    site.page("/same", title="Same")
    return "http://a.test/"


def log_of(folder: Path) -> list[Result]:
    with closing(sqlite3.connect(folder / "crawl.sqlite")) as db:
        return stored_results(db)


def records_of(results: Sequence[Result], source: str) -> list[dict[str, object]]:
    found = [one for result in results for one in result.records or ()]
    return [json.loads(one.data) for one in found if one.source.endswith(source)]


def report_of(crawled: Crawled, name: str) -> ModuleReport:
    (found,) = [one for one in crawled.summary.modules if one.name.endswith(name)]
    return found


def test_a_named_module_scrapes_in_the_workers(crawl: Crawl, seed: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SCRAPER)
    crawled = crawl(seed, modules=[f"{file}:Scraper"])
    assert crawled.outcomes() == {
        seed: Outcome.FETCHED,
        f"{seed}1": Outcome.FETCHED,
        f"{seed}missing": Outcome.NOT_FOUND,
        f"{seed}old": Outcome.REDIRECTED,
        f"{seed}same": Outcome.FETCHED,
        f"{seed}hidden": Outcome.FETCHED,
        f"{seed}far": Outcome.FETCHED,
    }
    results = log_of(tmp_path / "crawl")
    records = records_of(results, ":Scraper")
    assert sorted(str(one["title"]) for one in records if "title" in one) == [
        *("Far", "Hidden", "Home", "One", "Same")
    ]
    assert [one for one in records if "broken" in one] == [
        {"broken": f"{seed}missing", "on": seed, "attempts": 1}
    ]
    found = report_of(crawled, ":Scraper")
    assert (found.pages, found.records, found.ends, found.errors) == (5, 11, 7, 0)
    by_id = {record.id: url for url, record in crawled.urls.items()}
    assert {by_id[one.url_id] for one in results} == crawled.outcomes().keys() - {f"{seed}old"}


def test_functions_and_objects_given_in_python_scrape_here(
    crawl: Crawl, seed: str, tmp_path: Path
) -> None:
    ends: list[FinishedUrl] = []

    async def titles(page: Page) -> dict[str, object]:
        return {"title": page.title}

    class Here:
        def links(self, page: Page, links: Sequence[FollowedLink]) -> Iterator[FollowedLink]:
            return (FollowedLink(one.url, 7.5) for one in links if one.url.endswith("/1"))

        def finished(self, result: FinishedUrl) -> None:
            ends.append(result)

    class Broken:
        def links(self, page: Page, links: Sequence[FollowedLink]) -> object:
            raise ValueError("no idea")

        def finished(self, result: FinishedUrl) -> object:
            return 7

    crawled = crawl(seed, modules=[titles, Here(), Broken()])
    assert crawled.outcomes() == {
        seed: Outcome.FETCHED,
        f"{seed}1": Outcome.FETCHED,
        f"{seed}skip/1": Outcome.FETCHED,
    }
    results = log_of(tmp_path / "crawl")
    titles_found = [str(one["title"]) for one in records_of(results, "titles")]
    assert titles_found[0] == "Home"
    assert sorted(titles_found) == ["Home", "One", "not wanted"]
    one = crawled.urls[Url(f"{seed}1")]
    assert one.score == 7.5
    told = {end.url: (end.outcome, end.status, end.depth, end.found_on) for end in ends}
    assert told == {
        seed: ("fetched", 200, 0, None),
        f"{seed}1": ("fetched", 200, 1, seed),
        f"{seed}skip/1": ("fetched", 200, 1, seed),
    }
    assert {end.page_id for end in ends} == {1, 2, 3}
    broken = report_of(crawled, "Broken")
    assert (broken.errors, broken.failed_choices, broken.failed_ends, broken.ends) == (6, 3, 3, 0)


def test_ends_tell_of_redirects_retries_and_what_never_was_a_page(
    crawl: Crawl, web: Web, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /private")
    site.page("/", links=["/old", "/flaky", "/private", "/gone"])
    site.redirect("/old", "/new")
    site.page("/new")
    site.status("/flaky", 500)
    site.status("/gone", 410)
    ends: dict[str, FinishedUrl] = {}

    class Ends:
        def finished(self, result: FinishedUrl) -> None:
            assert result.url not in ends, "once for each URL"
            ends[result.url.removeprefix("http://a.test")] = result

    crawled = crawl("http://a.test/", modules=[Ends()], retries=1)
    assert {path: end.outcome for path, end in ends.items()} == {
        url.removeprefix("http://a.test"): outcome for url, outcome in crawled.outcomes().items()
    }
    assert (ends["/old"].redirected_to, ends["/new"].found_on) == (
        "http://a.test/new",
        "http://a.test/old",
    )
    assert (ends["/flaky"].attempts, ends["/flaky"].status) == (2, 500)
    assert "Disallow" in ends["/private"].detail
    assert ends["/gone"].page_id is None
    assert log_of(tmp_path / "crawl")[0].records is None
