"""Where the redirects from URLs in Redis ended, read for many URLs at once."""

from collections.abc import Callable, Sequence

from gossamer.model import Outcome
from gossamer.stores.redis.read_records import RecordReader
from gossamer.stores.redis.records import HostRow, read_host, read_targets
from gossamer.stores.redis.unpack import UnpackedUrl, unpack_url
from gossamer.stores.url_record import UrlRecord

MOST_REDIRECTS = 20
"""More than a crawl follows in a row. It bounds the commands it takes, however many the URLs."""


async def read_ends(
    records: RecordReader,
    ids: Sequence[int],
    record: Callable[[int, UnpackedUrl, HostRow], UrlRecord],
) -> list[UrlRecord | None]:
    """Return where each URL ended, itself if it is no redirect; None for an id of 0."""
    at = dict.fromkeys(ids)
    leads_to: dict[int, int] = {}
    found: dict[int, UnpackedUrl] = {}
    for _ in range(MOST_REDIRECTS):
        asked = [one for one in at if one and one not in found]
        read = await records.read("urls", asked, unpack_url, needed=True)
        found |= read
        moved = [one for one, url in read.items() if url.outcome is Outcome.REDIRECTED]
        targets = await records.read("targets", moved, read_targets)
        leads_to |= {one: steps[0] for one, steps in targets.items() if steps}
        at = dict.fromkeys(leads_to[one] for one in moved if one in leads_to)
        if not at:
            break
    records.check()
    ends = [_end(one, leads_to, found) for one in ids]
    names = {found[one].row.host for one in ends if one in found}
    hosts = await records.read("hosts", sorted(names), read_host, needed=True)
    records.check()
    return [
        record(one, found[one], hosts[found[one].row.host]) if one in found else None
        for one in ends
    ]


def _end(url_id: int, leads_to: dict[int, int], known: dict[int, UnpackedUrl]) -> int:
    """Return the last URL on the way; in a circle, one of it."""
    passed: set[int] = set()
    while url_id in leads_to and leads_to[url_id] in known and url_id not in passed:
        passed.add(url_id)
        url_id = leads_to[url_id]
    return url_id
