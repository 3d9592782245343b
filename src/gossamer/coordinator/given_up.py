"""The hosts that were given up in a crawl, when and why."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import attrgetter

import msgspec

from gossamer.frontier.contract import HOST_FAILED
from gossamer.model import HostKey, Outcome
from gossamer.stores.reading import CrawlReader
from gossamer.stores.url_record import UrlRecord

URLS_READ = 10_000
"""Among how many URLs such hosts are looked for: the first that were found, of however many."""


class GivenUpHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host that has failed so often that it is not asked any more."""

    host: HostKey
    at: float
    """When it was given up."""
    urls: int
    """How many of its URLs were given up with it, among those that were looked at."""
    reason: str
    """What it failed of last, in words; empty if nobody knows."""


async def read_given_up(reader: CrawlReader, outcomes: Mapping[str, int]) -> list[GivenUpHost]:
    """Return the hosts that were given up, those with most URLs first."""
    if not outcomes.get(Outcome.GAVE_UP):
        return []
    found, read = [], 0
    async for one in reader.urls():
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
        own = list(group)
        # A process that has never asked the host does not know what it failed of.
        reasons = [one.detail.removeprefix(HOST_FAILED).removeprefix(": ") for one in own]
        known = [reason for reason in reasons if reason]
        hosts.append(
            GivenUpHost(
                host=host,
                at=own[0].finished_at or 0.0,
                urls=len(own),
                reason=known[-1] if known else "",
            )
        )
    return sorted(hosts, key=lambda one: (-one.urls, one.host))
