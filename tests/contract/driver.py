"""What is done to a store in the tests, with a clock that is turned by hand."""

from collections.abc import Callable, Sequence

import msgspec
from tests.contract.samples import digest_of, domain_of, link, name_of, own_of
from tests.contract.stores import StoreSetup

from gossamer.frontier.contract import (
    THIS_PAGE,
    Claim,
    FrontierClient,
    HostFeedback,
    KeptPage,
    RetryRequest,
    ReturnedTask,
    Settled,
    Settlement,
    StoredBody,
    Task,
)
from gossamer.frontier.rules import FrontierRules
from gossamer.model import Candidate, HostKey, Outcome, Snapshot, Url
from gossamer.model.names import Sketch
from gossamer.model.page import NO_ATTRIBUTES
from gossamer.stores.bodies import ContentPacker
from gossamer.stores.crawl_views import HostView, WorkerReport, WorkerView
from gossamer.stores.url_record import Record, Result, UrlRecord, UrlState

START = 1_000_000.0
QUEUES = tuple(range(10))
WHATEVER = {THIS_PAGE: own_of()}
"""An own content that is that of every page."""
WAITING = {UrlState.UNSCORED, UrlState.QUEUED, UrlState.ASSIGNED}


class StoreDriver:
    """A store, and everything that is done to it in the tests; URLs are written `host/path`."""

    def __init__(self, setup: StoreSetup, rules: FrontierRules) -> None:
        self.setup = setup
        self.rules = rules
        self.now = START
        self._run = setup.run
        setup.open(rules, self.now)

    @property
    def store(self) -> FrontierClient:
        return self.setup.store

    def join(self, *workers: int, report: WorkerReport | None = None) -> None:
        for worker in workers:
            self._run(self.store.join(worker, self.now, report))

    def dismiss(self, worker: int, *in_hand: str | None, received: int = 0) -> None:
        records = self.records()
        ids = [records[name].id for name in in_hand if name is not None]
        self._run(self.store.dismiss(worker, ids, self.now, received))

    def workers(self) -> list[WorkerView]:
        return self._run(self.store.workers(self.now))

    def ready_hosts(self) -> int:
        return self._run(self.store.ready_hosts(self.now))

    def add_seeds(self, *names: str) -> int:
        return self._run(self.store.add_seeds([link(name) for name in names], self.now))

    def candidates(self, limit: int = 10_000) -> list[Candidate]:
        return self._run(self.store.candidates(limit))

    def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        self._run(self.store.prioritise(scores))

    def score(self, score: Callable[[str], float] = lambda _: 50.0) -> int:
        found = self.candidates()
        self._run(self.store.prioritise([(one, score(name_of(one.url))) for one in found]))
        return len(found)

    def route(self, draws: int = 100) -> int:
        return self._run(self.store.route([QUEUES] * draws, self.now))

    def assign(self, orders: Sequence[Sequence[int]]) -> int:
        return self._run(self.store.route(orders, self.now))

    def lease(self, worker: int = 0, limit: int = 100, *, referrers: bool = False) -> list[Task]:
        return self._run(self.store.lease(worker, limit, self.now, referrers)).tasks

    def wake_at(self, worker: int = 0) -> float | None:
        leased = self._run(self.store.lease(worker, 0, self.now))
        return leased.wake_at

    def take(self, worker: int = 0, limit: int = 100) -> list[Task]:
        """Score, deal and lease what there is."""
        self.join(worker)
        self.score()
        self.route()
        return self.lease(worker, limit)

    def take_one(self, name: str, worker: int = 0) -> Task:
        (task,) = [task for task in self.take(worker) if name_of(task.url) == name]
        return task

    def claim(
        self,
        task: Task,
        content: str | None = None,
        sketch: Sketch | None = None,
        own: dict[int, bytes] | None = WHATEVER,
    ) -> Claim:
        """Claim a number; unless it is said, the own content is known and that of every page."""
        digest = digest_of(content or task.url)
        return self._run(self.store.claim(task, digest, sketch, self.now, own))

    def content(self, number: int) -> bytes | None:
        """Return the body of a page; None if it has expired."""
        answer = self.setup.answer(number)
        return None if answer is None else answer.body

    def stored_body(self, number: int) -> StoredBody:
        return self._run(self.store.stored_body(number))

    def settle(
        self,
        task: Task,
        outcome: Outcome,
        *,
        feedback: HostFeedback | None = None,
        size: int = 0,
        received: int = 0,
        retry: bool = False,
        records: Sequence[Record] | None = None,
    ) -> Settled:
        settlement = Settlement(
            task=task,
            outcome=outcome,
            feedback=feedback,
            size=size,
            received=received,
            retry=retry,
            records=records,
        )
        return self.settle_as(settlement)

    def settle_as(self, settlement: Settlement) -> Settled:
        return self._run(self.store.settle(settlement, self.now))

    def keep(
        self,
        task: Task,
        links: Sequence[str] = (),
        *,
        content: str | None = None,
        sketch: Sketch | None = None,
        own: dict[int, bytes] | None = WHATEVER,
        feedback: HostFeedback | None = None,
        size: int = 100,
        received: int = 0,
        records: Sequence[Record] | None = None,
        row: bytes | None = None,
        packed: bytes | None = None,
        attributes: bytes = NO_ATTRIBUTES,
    ) -> Settled:
        """Claim a number for the page and settle it."""
        claim = self.claim(task, content, sketch, own)
        assert claim.page_id is not None
        page = KeptPage(
            page_id=claim.page_id,
            size=size,
            digest=digest_of(content or task.url),
            content=packed or ContentPacker().pack((content or task.url).encode()),
            attributes=attributes,
            fetched_at=self.now,
        )
        settlement = Settlement(
            task=task,
            outcome=Outcome.FETCHED,
            page=page,
            links=[link(name) for name in links],
            size=size,
            received=received,
            feedback=feedback or HostFeedback(ended=self.now),
            records=records,
            row=row,
        )
        return self.settle_as(settlement)

    def redirect(self, task: Task, target: str) -> Settled:
        settlement = Settlement(
            task=task,
            outcome=Outcome.REDIRECTED,
            links=[link(target)],
            redirect=True,
            feedback=HostFeedback(ended=self.now),
        )
        return self.settle_as(settlement)

    def miss(self, task: Task, feedback: HostFeedback | None = None) -> Settled:
        return self.settle(
            task, Outcome.NOT_FOUND, feedback=feedback or HostFeedback(ended=self.now)
        )

    def retry(self, task: Task, feedback: HostFeedback | None = None) -> Settled:
        feedback = feedback or HostFeedback(ended=self.now)
        return self.settle(task, Outcome.SERVER_ERROR, retry=True, feedback=feedback)

    def retry_failed(self, *outcomes: Outcome, hosts: Sequence[str] = ()) -> int:
        """Let everything wait again that has ended so."""
        wanted = RetryRequest(
            outcomes=frozenset(outcomes), hosts=frozenset(HostKey(f"{host}.test") for host in hosts)
        )
        retried, next_id = 0, 1
        while next_id:
            answer = self._run(self.store.retry_failed(wanted, next_id, self.now))
            retried += answer.urls
            next_id = answer.next_id or 0
        return retried

    def release(
        self,
        task: Task,
        feedback: HostFeedback | None = None,
        returned: ReturnedTask | None = None,
    ) -> bool:
        return self._run(self.store.release(task, feedback, self.now, returned))

    def acquire_robots_slot(self, host: str) -> float | None:
        key = HostKey(f"{host}.test")
        return self._run(self.store.acquire_robots_slot(key, domain_of(key), self.now))

    def release_robots_slot(self, host: str, feedback: HostFeedback) -> None:
        key = HostKey(f"{host}.test")
        self._run(self.store.release_robots_slot(key, domain_of(key), feedback, self.now))

    def renew(self, *tasks: Task) -> list[Task]:
        return self._run(self.store.renew(tasks, self.now))

    def reap(self) -> int:
        return self._run(self.store.reap(self.now))

    def expire(self) -> int:
        return self._run(self.store.expire(self.now))

    def commit(self) -> None:
        self._run(self.store.commit())
        self.setup.check_counters()

    def crash(self) -> None:
        self.setup.crash()
        self.setup.open(self.rules, self.now)

    def take_over(self) -> None:
        """Let the process die, and another one go on with the workers that live."""
        self.setup.crash()
        self.setup.open(self.rules, self.now, workers_live=True)

    def reopen(self) -> None:
        self._run(self.store.close())
        self.setup.open(self.rules, self.now)

    def with_delay(self, delay_s: float) -> FrontierRules:
        """Return the rules with another delay."""
        scheduler = msgspec.structs.replace(self.rules.scheduler, delay_s=delay_s)
        return msgspec.structs.replace(self.rules, scheduler=scheduler)

    def pending_depth_changes(self, limit: int = 1000) -> list[tuple[int, int]]:
        return self._run(self.store.pending_depth_changes(limit))

    def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        self._run(self.store.confirm_depth_changes(pages))

    def relaxing(self) -> bool:
        """Tell whether depths may still decrease over links that were found."""
        return self.snapshot().relaxing

    def relax(self) -> None:
        """Follow up all shorter paths."""
        while self.relaxing():
            assert self.route(1)

    def hosts(self, limit: int) -> list[HostView]:
        return self._run(self.store.hosts(limit, self.now))

    def snapshot(self) -> Snapshot:
        return self._run(self.store.snapshot(self.now))

    def ended_by(self) -> str | None:
        return self._run(self.store.ended_by())

    @staticmethod
    def key(name: str) -> bytes:
        return link(name).key

    @staticmethod
    def name(task: Task) -> str:
        return name_of(task.url)

    @staticmethod
    def name_of(url: Url) -> str:
        return name_of(url)

    # -- looking into it -------------------------------------------------------------------------

    def records(self) -> dict[str, UrlRecord]:
        return {name_of(record.url): record for record in self.setup.records()}

    def state(self, name: str) -> UrlState:
        return self.records()[name].state

    def depths(self) -> dict[str, int]:
        return {name: record.depth for name, record in self.records().items()}

    def assigned(self) -> int:
        return sum(record.state is UrlState.ASSIGNED for record in self.setup.records())

    def last_page(self) -> int:
        return self.setup.last_page()

    def gaps(self) -> frozenset[int]:
        return self.setup.gaps()

    def results(self, after: int = 0, limit: int = 10_000) -> list[Result]:
        return self.setup.results(after, limit)

    def drop_rows(self, upto: int) -> None:
        self._run(self.store.drop_rows(upto))

    def page_numbers(self) -> list[int]:
        return [page.id for page in self.setup.pages()]

    def assert_counts_agree(self) -> None:
        """Check that every URL is in one state, and that the counters agree."""
        snapshot, records = self.snapshot(), self.records().values()
        finished = [record for record in records if record.state is UrlState.DONE]
        assert snapshot.waiting == sum(record.state in WAITING for record in records)
        assert snapshot.in_progress == sum(record.state is UrlState.LEASED for record in records)
        assert snapshot.finished == len(finished)
        for record in records:
            assert (record.outcome is not None) == (record.state is UrlState.DONE)
            assert (record.finished_at is not None) == (record.state is UrlState.DONE)
        pages = list(self.setup.pages())
        assert snapshot.pages == len(pages) == sum(one.page_id is not None for one in records)
        assert snapshot.visits == sum(page.visits for page in pages)


OpenStore = Callable[..., StoreDriver]
"""Opens a store by rules of store and scheduler, given by their names."""
