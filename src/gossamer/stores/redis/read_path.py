"""The shortest path from a seed to a URL, read out of Redis."""

from collections.abc import Collection, Mapping

from gossamer.model import Url
from gossamer.stores.reading import Step, StepKind
from gossamer.stores.redis.read_records import RecordReader
from gossamer.stores.redis.records import LISTED, REDIRECT, UrlRow, read_listing
from gossamer.stores.redis.unpack import unpack_url


async def read_path(records: RecordReader, url_id: int, *, whole: bool = True) -> list[Step]:
    """Return the shortest path from a seed to a URL, both included.

    If not the whole: from the page before the last link.
    """
    passed: dict[int, UrlRow] = {}
    at = url_id
    while at and at not in passed:
        found = await records.read_one("urls", at, unpack_url)
        if found is None:
            break
        row = passed[at] = found.row
        if not whole and at != url_id and not row.flags & REDIRECT:
            break
        at = row.parent
    listed = [one for one, row in passed.items() if row.flags & LISTED]
    listings = await records.read("listings", listed, read_listing)
    sitemaps = {one for one, listing in listings.items() if listing.sitemap_of is not None}
    return [_step(one, passed, sitemaps) for one in reversed(passed)]


def _step(url_id: int, path: Mapping[int, UrlRow], sitemaps: Collection[int]) -> Step:
    row = path[url_id]
    parent = path.get(row.parent)
    over: StepKind = "link" if row.parent else "seed"
    if url_id in sitemaps or row.parent in sitemaps:
        over = "sitemap"
    elif parent is not None and parent.flags & REDIRECT:
        over = "redirect"
    return Step(Url(row.url), row.depth, over)
