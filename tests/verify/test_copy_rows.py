"""A crawl's rows can be copied from one database into another, and are the same there."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.stores.rows import ReadableRows
from gossamer.stores.sqlite import SqliteRows
from gossamer.views.copy_rows import copy_rows

if TYPE_CHECKING:
    from tests.verify.conftest import CrawlLab


def everything(rows: ReadableRows) -> list[object]:
    """Return all that can be read of rows."""
    ids, pages = range(1, rows.last_url() + 1), range(1, rows.last_page() + 1)
    return [
        rows.metadata(),
        [*rows.hosts()],
        sorted(rows.domains(), key=lambda domain: domain.name),
        rows.read_urls(ids),
        rows.read_links(ids),
        rows.read_histories(ids),
        rows.read_pages(pages),
        rows.read_sketches(pages),
        [rows.read_content(page) for page in pages],
        rows.read_results(0, 10_000),
        sorted(rows.leases(), key=lambda lease: lease.url),
        sorted(rows.relaxing()),
        [*rows.known_urls()],
        [*rows.known_pages()],
    ]


def test_from_a_file_to_a_redis_and_back(lab: "CrawlLab", tmp_path: Path) -> None:
    asyncio.run(lab.crawl_file(tmp_path / "crawl.sqlite", 60))
    file, back = SqliteRows(tmp_path / "crawl.sqlite"), SqliteRows()
    shared = lab.rows()
    try:
        copy_rows(file, shared)
        assert everything(shared) == everything(file)
        copy_rows(shared, back)
        assert everything(back) == everything(file)
    finally:
        for rows in (file, shared, back):
            rows.close()
    lab.resign()
    assert lab.broken() == {}
    assert asyncio.run(lab.crawl()) == "complete"
    assert lab.broken() == {}
