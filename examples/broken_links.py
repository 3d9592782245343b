"""The broken links of a site, with the page on which each was found.

gossamer crawl https://example.org/ --module ./examples/broken_links.py:BrokenLinks -o broken.csv
"""

from collections.abc import Iterator

from gossamer import FinishedUrl, Outcome

BROKEN = {
    *(Outcome.NOT_FOUND, Outcome.GONE, Outcome.SERVER_ERROR, Outcome.BAD_REDIRECT),
    *(Outcome.DNS_FAILED, Outcome.CONNECTION_FAILED, Outcome.TIMED_OUT, Outcome.TLS_FAILED),
}


class BrokenLinks:
    """Hears how every URL ended."""

    def finished(self, result: FinishedUrl) -> Iterator[dict[str, object]]:
        """Yield a record if it is broken."""
        if result.outcome in BROKEN:
            yield {
                "url": result.url,
                "status": result.status,
                "outcome": result.outcome,
                "found_on": result.found_on,
            }
