"""What came of a crawl, by its store, its files and the log of the web."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.registry import open_for_reading
from gossamer.stores.url_record import PageRecord, Result, UrlRecord
from gossamer.testing import RequestRecord, Web


class CrawlResult(msgspec.Struct, frozen=True):
    """What came of a crawl, without what may differ: ports, numbers, and which duplicate came
    first."""

    urls: list[tuple[str, str | None, int]]
    """URL, outcome (None: beyond the depth limit) and depth."""
    files: list[tuple[str, int, bytes]]
    """URL, depth and body."""


async def read_all(
    request: ReadRequest,
) -> tuple[list[UrlRecord], list[PageRecord], list[bytes], list[Result]]:
    """Return every URL, every page, the bodies of the pages, and the log of results."""
    async with open_for_reading(request) as reader:
        records = [one.record async for one in reader.urls()]
        pages = [page async for page in reader.pages()]
        bodies = [await reader.content(page.id) or b"" for page in pages]
        results = await reader.results(0, await reader.last_result())
    return records, pages, bodies, results


def saved_files(folder: Path) -> dict[int, bytes]:
    """Return what the module `save` has written; a killed worker leaves hidden files."""
    entries = folder.joinpath("pages").iterdir()
    return {int(one.name): one.read_bytes() for one in entries if not one.name.startswith(".")}


def as_result(
    web: Web, records: list[UrlRecord], pages: Sequence[tuple[str, int, bytes]]
) -> CrawlResult:
    port = f":{web.address[1]}"

    def plain(url: str) -> str:
        return re.sub("duplicate_of-[0-9]+", "duplicate_of", url.replace(port, ""))

    return CrawlResult(
        sorted(
            ((plain(one.url), one.outcome, one.depth) for one in records),
            key=lambda row: (row[0], row[2]),
        ),
        sorted((plain(url), depth, body.replace(port.encode(), b"")) for url, depth, body in pages),
    )


def impolite(records: list[RequestRecord], delay_s: float) -> list[tuple[str, str, float]]:
    """Return each request that came too soon after another to its host: both paths and the gap."""
    found = []
    for host in {record.host for record in records}:
        mine = sorted((one for one in records if one.host == host), key=lambda one: one.started)
        for one, following in pairwise(mine):
            gap_s = following.started - one.ended
            if gap_s < delay_s:
                found.append((host + one.path, following.path, gap_s))
    return found
