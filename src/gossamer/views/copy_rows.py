"""Copying the rows of a crawl from one database into another, in batches."""

from collections.abc import Iterator, Sequence
from typing import Final

from gossamer.stores.rows import Changes, ReadableRows, Rows

ROWS_AT_ONCE: Final = 1_000
PAGES_AT_ONCE: Final = 100


def copy_rows(source: ReadableRows, target: Rows) -> None:
    """Copy everything into rows that are empty; nobody may write to either meanwhile."""
    for changes in _everything(source):
        if (finish := target.write(changes)) is not None:
            finish()


def _everything(source: ReadableRows) -> Iterator[Changes]:
    yield _crawl(source)
    for ids in _runs(source.last_url(), ROWS_AT_ONCE):
        yield _urls(source, ids)
    for numbers in _runs(source.last_page(), PAGES_AT_ONCE):
        yield _pages(source, numbers)
    last = 0
    while results := source.read_results(last, ROWS_AT_ONCE):
        last = results[-1].number
        changes = Changes()
        changes.results += results
        yield changes
    leases = Changes()
    leases.leases |= {lease.url: lease for lease in source.leases()}
    leases.relaxing |= {one.url_id: one for one in source.relaxing()}
    yield leases


def _crawl(source: ReadableRows) -> Changes:
    changes = Changes()
    changes.metadata |= source.metadata()
    changes.hosts |= {host.id: host for host in source.hosts()}
    changes.domains |= {domain.name: domain for domain in source.domains()}
    return changes


def _urls(source: ReadableRows, ids: Sequence[int]) -> Changes:
    changes = Changes()
    rows = source.read_urls(ids)
    changes.urls |= {row.id: row for row in rows}
    changes.links |= dict(zip(ids, source.read_links(ids), strict=True))
    histories = zip(ids, source.read_histories(ids), strict=True)
    changes.attempts |= {url_id: history for url_id, history in histories if history}
    return changes


def _pages(source: ReadableRows, numbers: Sequence[int]) -> Changes:
    changes = Changes()
    for page in source.read_pages(numbers):
        if page is None:  # its number is claimed, and the page not kept so far
            continue
        changes.pages[page.number] = page
        content = source.read_content(page.number)
        if content is not None:
            changes.contents[page.number] = page.fetched_at, content
    sketches = source.read_sketches([*changes.pages])
    changes.sketches |= {sketch.page: sketch for sketch in sketches if sketch is not None}
    return changes


def _runs(last: int, size: int) -> Iterator[Sequence[int]]:
    """Yield the numbers from 1 to the last one in runs."""
    return (range(first, min(first + size, last + 1)) for first in range(1, last + 1, size))
