"""A module that extracts records of every page and every end, and what is in the log then."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from gossamer import FinishedUrl, Outcome, Page
from gossamer.frontier.contract import POISON_WORDS
from gossamer.stores.url_record import Result, UrlRecord, UrlState

SPEC = f"{__file__}:Scraper"
"""How it is named."""


class Scraper:
    """Two records of a page, one of the end of a URL."""

    def page(self, page: Page) -> Iterator[dict[str, object]]:
        """Yield the records of a page."""
        for part in ("first", "second"):
            yield {"page": page.url, "part": part}

    def finished(self, result: FinishedUrl) -> dict[str, object]:
        """Return the record of an end."""
        return {"end": result.url, "outcome": result.outcome}


def assert_each_is_there_once(urls: Iterable[UrlRecord], results: Iterable[Result]) -> None:
    """The log has the records of each URL that has ended, once; of no other it has any."""
    log: defaultdict[int, list[Result]] = defaultdict(list)
    for result in results:
        log[result.url_id].append(result)
    for url in urls:
        found = log.pop(url.id, [])
        if url.state is not UrlState.DONE or url.detail == POISON_WORDS:
            assert found == [], f"{url.url} has not ended by a settlement"
            continue
        *before, last = found
        # A duplicate whose original was lost in a crash is visited again, and ends once more.
        assert len(before) < (url.attempts if url.outcome is Outcome.DUPLICATE else 1), url.url
        assert last.page_id == url.page_id
        wanted = [f'{{"end":"{url.url}","outcome":"{url.outcome}"}}']
        if url.page_id is not None:
            parts = ("first", "second")
            wanted = [f'{{"page":"{url.url}","part":"{part}"}}' for part in parts] + wanted
        assert [one.data.decode() for one in last.records or ()] == wanted
    assert not log, "results of URLs that are not known"
