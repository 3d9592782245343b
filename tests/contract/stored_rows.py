"""What is stored of a crawl, row by row, against the model of what must be true.

Whatever a store answers comes from memory, batch and rows together. What a successor gets are the
rows alone: here they are read as another process reads them, and nothing is taken from memory.
"""

import math
from collections import defaultdict

from tests.contract.model import Model
from tests.contract.model_state import HeldTask, ModelUrl, host_of
from tests.contract.samples import digest_of, name_of

from gossamer.frontier.claims import read_claim
from gossamer.frontier.router import QueueTable
from gossamer.stores.columns import wrong_blocks
from gossamer.stores.counting import wrong_counts
from gossamer.stores.crawl_views import read_counters
from gossamer.stores.rows import HostRow, Item, LeaseRow, ReadableRows, UrlRow, unpack_links
from gossamer.stores.url_record import UrlState, unpack_records

EVERY = 10**6


class StoredRows:
    """The rows of a crawl, and the model that they must agree with."""

    def __init__(self, rows: ReadableRows, model: Model, now: float) -> None:
        self._rows = rows
        self._model = model
        self._now = now
        self._metadata = rows.metadata()
        self._hosts = {row.id: row for row in rows.hosts()}
        self._urls = {row.id: row for row in rows.read_urls(range(1, rows.last_url() + 1))}
        self._names = {row.id: name_of(row.url) for row in self._urls.values()}
        self._leases = {self._names[lease.url]: lease for lease in rows.leases()}
        self._lags = any(True for _ in rows.relaxing())
        """Whether shorter paths are still to be followed, which the model does at once."""

    def check(self) -> None:
        """Compare everything."""
        self._check_urls()
        self._check_parents()
        self._check_leases()
        self._check_hosts()
        self._check_domains()
        self._check_pages()
        self._check_counters()
        self._check_indexes()

    # -- URLs ------------------------------------------------------------------------------------

    def _check_urls(self) -> None:
        assert sorted(self._names.values()) == sorted(self._model.urls)
        ids = {name: url_id for url_id, name in self._names.items()}
        links = self._rows.read_links([*self._urls])
        for row, packed in zip(self._urls.values(), links, strict=True):
            name = self._names[row.id]
            url = self._model.urls[name]
            self._check_path(name, row, url)
            assert self._state(name, row) == self._model.state_at(name, row.depth), name
            assert (row.page, row.attempts, row.deaths) == (url.page, url.attempts, url.deaths)
            assert row.redirect == url.redirect, name
            if row.state == UrlState.DONE:
                assert row.outcome == url.outcome, name
                assert (row.finished_at, row.duplicate_of) == (url.finished_at, url.duplicate_of)
            assert {*unpack_links(packed)} == {ids[target] for target in url.targets}, name
            attempts = self._rows.read_attempts(row.id)
            assert len(attempts) == url.attempts, name
            if url.outcome is not None:
                assert attempts[-1].outcome == url.outcome, name

    def _check_path(self, name: str, row: UrlRow, url: ModelUrl) -> None:
        if self._lags:
            assert (row.depth, row.hops) >= (url.depth, url.hops), name
        else:
            assert (row.depth, row.hops) == (url.depth, url.hops), name

    def _state(self, name: str, row: UrlRow) -> str:
        if row.state == UrlState.TOO_DEEP:
            return "too_deep"
        if row.state == UrlState.DONE:
            return "finished"
        assert row.state in {UrlState.UNSCORED, UrlState.QUEUED}
        return "in progress" if name in self._leases else "waiting"

    def _check_parents(self) -> None:
        """The depth of a URL is that of its parent and one more, or the same after a redirect."""
        for row in self._urls.values():
            name = self._names[row.id]
            if row.parent is None:
                assert (row.depth, row.hops) == (0, 0), f"{name} is no seed"
                continue
            parent = self._urls[row.parent]
            is_linked = name in self._model.urls[self._names[parent.id]].targets
            if is_linked and not self._lags:  # else the parent was visited again without the link
                is_redirect = self._model.urls[self._names[parent.id]].redirect
                step = (parent.depth, parent.hops + 1) if is_redirect else (parent.depth + 1, 0)
                assert (row.depth, row.hops) == step, f"{name} from {self._names[parent.id]}"

    # -- who has what ----------------------------------------------------------------------------

    def _check_leases(self) -> None:
        assert self._leases.keys() == self._model.held.keys()
        for name, held in self._model.held.items():
            lease = self._leases[name]
            assert self._urls[lease.url].state == UrlState.QUEUED, name
            assert (lease.number, lease.worker) == (held.task.lease, held.worker), name
            assert (lease.shared, lease.allowed) == (held.shared, held.task.max_bytes), name
            assert lease.deadline == held.deadline, name
            self._check_claim(name, lease, held)

    def _check_claim(self, name: str, lease: LeaseRow, held: HeldTask) -> None:
        claim, refusal = (None, None) if lease.claim is None else read_claim(lease.claim)
        assert (claim and claim.number) == held.number, name
        if claim is not None and held.content is not None:
            assert claim.digest == digest_of(held.content), name
            assert claim.again == held.again, name
        assert (refusal and refusal.duplicate_of) == held.duplicate_of, name
        if refusal is not None:
            assert refusal.void == (held.refused_by == "nobody"), name

    # -- hosts -----------------------------------------------------------------------------------

    def _check_hosts(self) -> None:
        names = defaultdict(list)
        for name in self._model.urls:
            names[host_of(name)].append(name)
        stored = {row.key.removesuffix(".test"): row for row in self._hosts.values()}
        assert stored.keys() >= names.keys()
        for name, row in stored.items():
            assert row.urls == len(names[name]), name
            assert row.pages == self._model.pages_of(f"{name}/"), name
            self._check_rest(name, row)

    def _check_rest(self, name: str, row: HostRow) -> None:
        """Check that whoever reads it never asks the host too soon."""
        host = self._model.host(f"{name}/")
        assert row.failures == host.failures, name
        assert (row.crawl_delay_s or 0.0) == host.crawl_delay, name
        until = self._model.taken_slots.get(name)
        assert (row.robots_slots, row.robots_slots and row.robots_until) == (
            (0, 0) if until is None else (1, until)
        ), name
        if host.next_start > self._now:
            unsure_since = float(self._metadata.get("unsure_since", b"-inf"))
            next_start = max(row.next_start, unsure_since + self._model.delay(f"{name}/"))
            assert next_start >= host.next_start - 1e-6, name

    def _check_domains(self) -> None:
        """Check that a domain stays with its worker, whoever reads it."""
        stored = {row.name: row for row in self._rows.domains()}
        for domain, until in self._model.kept_until.items():
            if until > self._now and self._model.owner[domain] in self._model.alive:
                row = stored[f"{domain}.test"]
                assert (row.worker, row.kept_until) == (self._model.owner[domain], until), domain

    # -- pages and results -----------------------------------------------------------------------

    def _check_pages(self) -> None:
        kept = self._model.kept
        numbers = [*range(1, self._rows.last_page() + 1)]
        pages = [row for row in self._rows.read_pages(numbers) if row is not None]
        assert {
            row.number: (self._names[row.url], row.digest, row.fetched_at) for row in pages
        } == {
            number: (name, digest_of(content), at)
            for number, (name, content, at) in kept.pages.items()
        }
        with_content = {one for one in numbers if self._rows.read_content(one) is not None}
        assert with_content == {*self._rows.read_expired(math.inf, EVERY)}
        expired_before = float(self._metadata.get("expired_before", b"-inf"))
        assert with_content >= {row.number for row in pages if row.fetched_at > expired_before}
        for row in pages:
            assert self._urls[row.url].page == row.number
        results = self._rows.read_results(0, EVERY)
        assert [one.number for one in results] == [*range(1, len(results) + 1)]
        assert [
            (self._names[one.url], one.page, unpack_records(one.records)) for one in results
        ] == kept.results

    def _check_counters(self) -> None:
        counters, kept = read_counters(self._metadata.get), self._model.kept
        assert (counters.visits, counters.bytes) == (kept.visits, kept.bytes)
        assert (counters.received, counters.short_at) == (kept.received, kept.short_at)
        assert [*wrong_counts(self._rows)] == []

    # -- what finds rows -------------------------------------------------------------------------

    def _check_indexes(self) -> None:
        """Check that each index finds what the rows say, and nothing else."""
        rows, table = self._rows, QueueTable(self._model.rules.scheduler.queues)
        assert rows.find_urls([row.key for row in self._urls.values()]) == [*self._urls]
        assert rows.find_hosts([row.key for row in self._hosts.values()]) == [*self._hosts]
        assert [*wrong_blocks(rows)] == []
        for known in rows.known_urls():
            row = self._urls[known.id]
            links = rows.read_links([known.id])[0]
            assert (known.key, known.host, known.state) == (row.key, row.host, row.state)
            assert (known.depth, known.hops, known.page) == (row.depth, row.hops, row.page)
            assert known.has_links == bool(links), row.url
        queues: dict[tuple[int, int], list[Item]] = defaultdict(list)
        for row in self._urls.values():
            if row.state == UrlState.QUEUED:
                assert row.score is not None
                assert row.queue == table.queue_of(row.score)
                queues[row.host, row.queue].append((row.score, row.id))
        for host in self._hosts:
            for queue in range(len(table)):
                stored = rows.read_queue(host, queue, (-math.inf, 0), EVERY)
                assert stored == sorted(queues[host, queue]), (self._hosts[host].key, queue)
        unscored = [row.id for row in self._urls.values() if row.state == UrlState.UNSCORED]
        assert rows.count_unscored(rows.last_url() + 1) == len(unscored)
