"""The hosts that were given up in a crawl, when and why."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter

import msgspec

from gossamer.model import HostKey, Outcome
from gossamer.stores.contract import HOST_FAILED
from gossamer.stores.reading import CrawlReader
from gossamer.stores.url_record import UrlRecord, UrlState

URLS_READ = 10_000
"""Among how many finished URLs such hosts are looked for: the first of a crawl of any size."""


class GivenUpHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host that has failed so often that it is not asked any more."""

    host: HostKey
    at: float
    """When it was given up."""
    urls: int
    """How many of its URLs were given up with it, among those that were looked at."""
    reason: str
    """What it failed of last, in words."""


async def read_given_up(reader: CrawlReader, outcomes: Mapping[str, int]) -> list[GivenUpHost]:
    """Return the hosts that were given up, those with most URLs first."""
    if not outcomes.get(Outcome.GAVE_UP):
        return []
    found, read = [], 0
    async for one in reader.urls({UrlState.DONE}):
        if one.record.outcome is Outcome.GAVE_UP:
            found.append(one.record)
        read += 1
        if read >= URLS_READ:
            break
    return given_up_hosts(found)


def given_up_hosts(urls: Iterable[UrlRecord]) -> list[GivenUpHost]:
    """Return the hosts of URLs that were given up, unless that was not for their host."""
    for_host = [one for one in urls if one.detail.startswith(HOST_FAILED)]
    for_host.sort(key=lambda one: (one.host, one.finished_at or 0.0))
    hosts = []
    for host, group in groupby(for_host, attrgetter("host")):
        first, *others = group
        last = others[-1] if others else first
        reason = last.detail.removeprefix(HOST_FAILED).removeprefix(": ")
        at, count = first.finished_at or 0.0, 1 + len(others)
        hosts.append(GivenUpHost(host=host, at=at, urls=count, reason=reason))
    return sorted(hosts, key=lambda one: (-one.urls, one.host))
