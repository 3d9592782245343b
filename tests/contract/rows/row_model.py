"""What rows must be after some changes: plain dictionaries, and no database."""

from collections import defaultdict
from math import inf
from typing import TypeVar

import msgspec

from gossamer.model import HostKey
from gossamer.stores.rows import (
    Changes,
    DomainRow,
    HostRow,
    Item,
    KnownPage,
    KnownUrl,
    LeaseRow,
    PageRow,
    ReadableRows,
    RelaxingUrl,
    ResultRow,
    SketchRow,
    UrlRow,
)
from gossamer.stores.url_record import Attempt, UrlState

Number = TypeVar("Number", int, str)
Entry = TypeVar("Entry")
Row = TypeVar("Row", bound=msgspec.Struct)


class RowModel:
    """The rows of a crawl."""

    def __init__(self) -> None:
        self.urls: dict[int, UrlRow] = {}
        self.links: dict[int, bytes] = {}
        self.attempts: defaultdict[int, list[Attempt]] = defaultdict(list)
        self.relaxing: dict[int, RelaxingUrl] = {}
        self.hosts: dict[int, HostRow] = {}
        self.domains: dict[str, DomainRow] = {}
        self.metadata: dict[str, bytes] = {}
        self.leases: dict[int, LeaseRow] = {}
        self.url_blocks: dict[int, bytes] = {}
        self.page_blocks: dict[int, bytes] = {}
        self.pages: dict[int, PageRow] = {}
        self.contents: dict[int, tuple[float, bytes]] = {}
        self.sketches: dict[int, SketchRow] = {}
        self.results: list[ResultRow] = []

    def apply(self, changes: Changes) -> None:
        """Do what changes say, with copies of their rows."""
        self.urls |= _copies(changes.urls)
        for one, change in changes.url_changes.items():
            row = self.urls[one]
            row.depth, row.hops, row.parent = change.depth, change.hops, change.parent
            row.state = row.state if change.state is None else change.state
        self.links |= changes.links
        self.url_blocks |= changes.url_blocks
        self.page_blocks |= changes.page_blocks
        for one, attempts in changes.attempts.items():
            self.attempts[one] += attempts
        self.hosts |= _copies(changes.hosts)
        for one, count in changes.host_urls.items():
            self.hosts[one].urls = count
        self.domains |= _copies(changes.domains)
        _put(self.relaxing, changes.relaxing)
        _put(self.metadata, changes.metadata)
        _put(self.leases, changes.leases)
        self.pages |= _copies(changes.pages)
        for number, depth in changes.reported.items():
            self.pages[number].reported_depth = depth
        for number in changes.dropped:
            self.contents.pop(number, None)
            self.sketches.pop(number, None)
        self.contents |= changes.contents
        self.sketches |= _copies(changes.sketches)
        self.results += [msgspec.structs.replace(one) for one in changes.results]
        for result in self.results:
            is_old = result.settled_at <= changes.rows_expired
            if result.number <= changes.rows_dropped or is_old:
                result.row = None

    def queue(self, host: int, queue: int) -> list[Item]:
        """Return what is in a priority queue of a host, in order."""
        return sorted(
            (row.score, row.id)
            for row in self.urls.values()
            if (row.state, row.host, row.queue) == (UrlState.QUEUED, host, queue)
            and row.score is not None
        )

    def known_urls(self) -> list[KnownUrl]:
        """Return what memory holds of them."""
        return [
            KnownUrl(
                row.id,
                row.key,
                row.host,
                row.state,
                row.depth,
                row.hops,
                row.page,
                row.finished_at,
                bool(self.links.get(row.id)),
                row.redirect,
                row.queue,
                row.sitemap_of,
            )
            for _, row in sorted(self.urls.items())
        ]

    def check_loaded(self, rows: ReadableRows) -> None:
        """Compare all that is loaded when a crawl is opened."""
        assert rows.metadata() == self.metadata
        assert list(rows.known_urls()) == self.known_urls()
        assert dict(rows.url_blocks()) == self.url_blocks
        assert dict(rows.page_blocks()) == self.page_blocks
        assert {number: key for key, number in rows.url_keys()} == {
            row.id: row.key for row in self.urls.values()
        }
        assert {number: digest for digest, number in rows.page_digests()} == {
            page.number: page.digest for page in self.pages.values()
        }
        assert list(rows.known_urls(2, 3)) == self.known_urls()[1:3]
        assert list(rows.known_pages()) == [
            KnownPage(page.number, page.url, page.digest, page.fetched_at, page.reported_depth)
            for _, page in sorted(self.pages.items())
        ]
        for since in (-inf, 1.0, 2.0, inf):
            assert sorted(rows.bands(since)) == [
                (number, sketch.bands)
                for number, sketch in sorted(self.sketches.items())
                if sketch.fetched_at > since
            ]
        assert list(rows.hosts()) == [row for _, row in sorted(self.hosts.items())]
        assert {row.name: row for row in rows.domains()} == self.domains
        assert {one.url_id: one for one in rows.relaxing()} == self.relaxing
        assert {one.url: one for one in rows.leases()} == self.leases
        assert rows.last_url() == len(self.urls)
        assert rows.last_page() == max(self.pages, default=0)
        assert rows.last_result() == len(self.results)

    def check_read(self, rows: ReadableRows) -> None:
        """Compare all that is read by itself."""
        ids = [*reversed(self.urls)]
        assert rows.read_urls(ids) == [self.urls[one] for one in ids]
        assert rows.read_links(ids) == [self.links.get(one, b"") for one in ids]
        for one in ids:
            assert rows.read_attempts(one) == self.attempts[one]
        assert rows.read_histories(ids) == [self.attempts[one] for one in ids]
        names = ["nobody", *reversed(self.metadata)]
        assert rows.read_metadata(names) == [self.metadata.get(name) for name in names]
        hosts = [*reversed(self.hosts)]
        assert rows.read_hosts(hosts) == [self.hosts[one] for one in hosts]
        numbers = [*range(1, len(self.pages) + 2)]
        for number in numbers:
            assert rows.read_page(number) == self.pages.get(number)
            assert rows.read_content(number) == self.contents.get(number, (0.0, None))[1]
        assert rows.read_pages(numbers) == [self.pages.get(one) for one in numbers]
        assert rows.read_sketches(numbers) == [self.sketches.get(one) for one in numbers]
        by_age = sorted((at, number) for number, (at, _) in self.contents.items())
        for before in (0.0, 1.0, 2.5, inf):
            expired = [number for at, number in by_age if at <= before]
            for limit in (1, 2, 100):
                assert rows.read_expired(before, limit) == expired[:limit]
        self._check_results(rows)
        self._check_known(rows)
        self._check_queues(rows)

    def _check_results(self, rows: ReadableRows) -> None:
        for after in (0, 1, len(self.results) - 1, len(self.results), 99):
            for limit in (1, 2, 10**6):
                expected = [one for one in self.results if one.number > after][:limit]
                assert rows.read_results(after, limit) == expected, (after, limit)

    def _check_known(self, rows: ReadableRows) -> None:
        keys = [b"nobody's", *(row.key for row in self.urls.values())]
        assert rows.find_urls(keys) == [0, *self.urls]
        hosts = [HostKey("http://nobody"), *(row.key for row in self.hosts.values())]
        assert rows.find_hosts(hosts) == [0, *self.hosts]
        unscored = [one for one, row in self.urls.items() if row.state == UrlState.UNSCORED]
        for before in range(len(self.urls) + 2):
            assert rows.count_unscored(before) == sum(one < before for one in unscored)

    def _check_queues(self, rows: ReadableRows) -> None:
        for host in self.hosts:
            for queue in range(3):
                items = self.queue(host, queue)
                strangers = [(score, number) for score in (-inf, 1.0, 50.0) for number in (0, 2, 9)]
                for place, item in enumerate(items):
                    assert rows.count_queued(host, queue, item) == place
                for after in [*items, *strangers]:
                    following = [item for item in items if item > after]
                    for limit in (1, 2, 100):
                        read = rows.read_queue(host, queue, after, limit)
                        assert read == following[:limit], (host, queue, after, limit)


def _copies(rows: dict[Number, Row]) -> dict[Number, Row]:
    return {number: msgspec.structs.replace(row) for number, row in rows.items()}


def _put(rows: dict[Number, Entry], changes: dict[Number, Entry | None]) -> None:
    for name, row in changes.items():
        if row is None:
            rows.pop(name, None)
        else:
            rows[name] = row
