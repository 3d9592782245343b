"""Steps that are taken both in a store and in the model, and must have the same effect."""

import copy
import math
from collections.abc import Callable
from contextlib import closing

import msgspec
import pytest
from tests.contract.driver import StoreDriver
from tests.contract.model import Model
from tests.contract.model_state import CONTENTS, OWN, SAME, HeldTask, host_of, own_likeness
from tests.contract.samples import own_of, sketch_of
from tests.contract.stored_rows import StoredRows

from gossamer.frontier.contract import THIS_PAGE, Claim, HostFeedback, ReturnedTask, Task
from gossamer.model import Outcome
from gossamer.model.names import Sketch
from gossamer.stores.url_record import Record, UrlState


class CheckedStore:
    """A store and the model beside it."""

    def __init__(self, driver: StoreDriver) -> None:
        self.driver = driver
        self.model = Model(driver.rules)
        self._committed = copy.deepcopy(vars(self.model))
        """All of the model as it was at the last commit."""
        self._is_begun = False

    @property
    def now(self) -> float:
        return self.driver.now

    # -- the frontier ----------------------------------------------------------------------------

    def add_seeds(self, names: list[str]) -> None:
        before = self.driver.records()
        new = self.driver.add_seeds(*names)
        self.model.add(names, 0, 0, self.now, seeds=True)
        too_deep = UrlState.TOO_DEEP
        assert new == sum(
            name not in before or before[name].state is too_deep for name in set(names)
        )

    def prioritise(self, score: Callable[[], float], times: int) -> None:
        """Score what is new; the same scores may come more than once."""
        scores = [(one, score()) for one in self.driver.candidates()]
        for _ in range(times):
            self.driver.prioritise(scores)
        assert self.driver.candidates() == []

    def route(self, order: list[int], draws: int) -> None:
        scheduler = self.model.rules.scheduler
        self.driver.assign([sorted(order) if scheduler.strict else order] * draws)
        queues = len(self.model.alive) + 1  # one more for what is assigned to all of them
        assert self.driver.assigned() <= scheduler.worker_queue * queues

    # -- the workers -----------------------------------------------------------------------------

    def join(self, worker: int) -> None:
        self.driver.join(worker)
        self.model.alive[worker] = self.now
        if not self._is_begun:  # the first one comes with a commit
            self._is_begun = True
            self._note_commit()

    def lease(self, worker: int, limit: int) -> int:
        if worker not in self.model.alive:
            return 0
        self.model.alive[worker] = self.now
        records = self.driver.records()
        scores = {name: record.score for name, record in records.items()}
        unscored = sum(record.state is UrlState.UNSCORED for record in records.values())
        self.model.lags = self.driver.relaxing()
        tasks = self.driver.lease(worker, limit)
        assert not tasks or unscored < self.model.rules.scheduler.url_queue
        for task in tasks:
            name = self.driver.name(task)
            if self.model.rules.scheduler.strict:
                self._assert_is_best_of_host(name, scores)
            self.model.lease(name, task, worker, self.now)
        return len(tasks)

    def _assert_is_best_of_host(self, name: str, scores: dict[str, float | None]) -> None:
        for other, url in self.model.urls.items():
            if url.state == "waiting" and host_of(other) == host_of(name):
                mine, its = scores[name], scores[other]
                assert mine is not None
                assert its is not None
                assert mine <= its, f"{name} goes before {other}"

    def renew(self, name: str) -> None:
        held = self.model.held[name]
        assert self.driver.renew(held.task) == []
        held.deadline = self.now + self.model.rules.scheduler.lease_s

    def release(self, name: str, feedback: HostFeedback | None, received: int) -> None:
        """Give a task back; if it needed more than was left, that is the end of the budget."""
        task = self.model.held[name].task
        returned = ReturnedTask(received, task.is_last_of_budget and received > 0)
        assert self.driver.release(task, feedback, returned)
        self.model.leave(name, feedback, self.now, returned)

    def come_too_late(self, task: Task) -> None:
        """Try everything with a task that was lost; nothing may come of it."""
        before = list(self.driver.records().values())
        assert self.driver.renew(task) == [task]
        assert self.driver.claim(task).lost
        assert not self.driver.settle(
            task,
            Outcome.GONE,
            feedback=HostFeedback(ended=self.now),
            records=[Record("late", b"{}")],
        ).accepted
        assert not self.driver.release(task)
        assert list(self.driver.records().values()) == before

    def acquire_or_release_slot(self, host: str, feedback: HostFeedback) -> None:
        name, model = f"{host}/", self.model
        if host in model.taken_slots or host in model.lost_slots:
            self.driver.release_robots_slot(host, feedback)
            model.rest(name, feedback)
            model.taken_slots.pop(host, None)
            model.lost_slots.discard(host)
            return
        moment = self.driver.acquire_robots_slot(host)
        is_free = model.in_progress(name) < model.slots(name)
        assert (moment is None) == (is_free and self.now >= model.host(name).next_start)
        if moment is None:
            model.taken_slots[host] = self.now + model.rules.scheduler.lease_s
        else:
            assert moment > self.now

    # -- pages -----------------------------------------------------------------------------------

    def claim(self, name: str, content: str) -> None:
        """Claim a number for a page that says this; compare it with others where that is asked."""
        held, model = self.model.held[name], self.model
        claim = self.driver.claim(held.task, content, sketch_for(content), None)
        assert not claim.lost
        if held.number is not None:
            assert claim.page_id == held.number, "a second claim got another answer"
            return
        page = model.urls[name].page
        assert claim.again == (page is not None)
        if page is not None:
            assert claim.page_id == page, "a page that is visited again got another number"
            held.number, held.content, held.again = page, content, True
            return
        like = model.comparable(content, self.now)
        is_read = False
        if model.rules.similarity is not None and like and SAME not in like.values():
            assert claim.unread == self._unread(like)
            claim, is_read = self._claim_again(held, content, claim.unread), True
            like = model.repeated(content, like, self.now)
        if model.rules.similarity is None or not like:
            taken = set(model.kept.pages) | {other.number for other in model.held.values()}
            free = next(number for number in range(1, 1000) if number not in taken)
            assert claim.page_id == free, "a number was left out or given twice"
            held.number, held.content, held.is_read = claim.page_id, content, is_read
            held.duplicate_of = held.refused_by = None
            return
        assert claim.page_id is None
        assert claim.duplicate_of is not None
        best = max(like.values())
        assert like[claim.duplicate_of] == best
        assert claim.similarity == (None if best == SAME else pytest.approx(best))
        if claim.own_similarity is not None:
            said = model.contents(self.now)[claim.duplicate_of]
            assert claim.own_similarity == pytest.approx(own_likeness(content, said))
        if best != SAME:
            assert claim.duplicate_of == min(one for one, how in like.items() if how == best)
        held.duplicate_of = claim.duplicate_of
        held.repeats = Outcome.DUPLICATE if best == SAME else Outcome.SIMILAR
        rivals = {other.number: rival for rival, other in model.held.items()}
        held.refused_by = rivals.get(claim.duplicate_of)

    def _unread(self, like: dict[int, float]) -> tuple[int, ...]:
        ranked = sorted(like, key=lambda number: (-like[number], number))
        unknown = [number for number in ranked if not self.model.is_read(number)]
        return (THIS_PAGE, *unknown[:4])

    def _claim_again(self, held: HeldTask, content: str, unread: tuple[int, ...]) -> Claim:
        """Claim with the own contents of all pages that are kept; others cannot be read."""
        own, kept = {THIS_PAGE: own_for(content)}, self.model.kept
        for number in unread[1:]:
            is_claimed = any(other.number == number for other in self.model.held.values())
            assert self.driver.stored_body(number).claimed == is_claimed
            if not is_claimed:
                own[number] = own_for(kept.pages[number][1])
                kept.read.add(number)
        return self.driver.claim(held.task, content, sketch_for(content), own)

    def settle_page(
        self, name: str, content: str, links: list[str], feedback: HostFeedback
    ) -> None:
        """Claim a number for a page and settle it, or else as a duplicate."""
        held = self.model.held[name]
        self.claim(name, held.content or content)
        if held.number is None:
            self._settle_duplicate(name, held, feedback)
        else:
            self._settle_kept(name, held, feedback, links)

    def _settle_duplicate(self, name: str, held: HeldTask, feedback: HostFeedback) -> None:
        model = self.model
        records = self._records(name)
        self.driver.settle(
            held.task, held.repeats, size=20, received=15, feedback=feedback, records=records
        )
        model.kept.bytes += 20
        model.rest(name, feedback)
        if held.refused_by == "nobody":
            model.end(name, self.now, 15)
            model.urls[name].attempts += 1
            model.wait_again(name)
        else:
            model.finish(name, held.repeats, self.now, 15, records)
            model.urls[name].duplicate_of = held.duplicate_of

    def _settle_kept(
        self, name: str, held: HeldTask, feedback: HostFeedback, links: list[str]
    ) -> None:
        model, number = self.model, held.number
        assert number is not None
        assert held.content is not None
        sketch, records = sketch_for(held.content), self._records(name)
        settled = self.driver.keep(
            held.task,
            links,
            content=held.content,
            sketch=sketch,
            feedback=feedback,
            size=30,
            received=40,
            own=None,
            records=records,
        )
        assert settled.accepted
        assert self.driver.content(number) == held.content.encode()
        model.kept.bytes += 30
        model.kept.visits += 1
        model.rest(name, feedback)
        model.finish(name, Outcome.FETCHED, self.now, 40, records)
        model.kept.pages[number] = (name, held.content, self.now)
        model.kept.read.discard(number)
        if held.is_read:
            model.kept.read.add(number)
        for other in model.held.values():
            if other.refused_by == name:
                other.refused_by = None
        url = model.urls[name]
        url.page, url.targets = number, links
        model.add(links, url.depth + 1, 0, self.now, seeds=False)
        model.kept.shown[number] = held.task.depth

    def settle_redirect(self, name: str, to: str) -> None:
        model, held = self.model, self.model.held[name]
        assert self.driver.redirect(held.task, to).accepted
        model.rest(name, HostFeedback(ended=self.now))
        model.finish(name, Outcome.REDIRECTED, self.now)
        url = model.urls[name]
        url.targets, url.redirect = [to], True
        model.add([to], url.depth, url.hops + 1, self.now, seeds=False)
        model.give_up_claim(held, name)

    def settle_without_a_page(
        self, name: str, feedback: HostFeedback | None, received: int
    ) -> None:
        held, records = self.model.held[name], self._records(name)
        assert self.driver.settle(
            held.task, Outcome.NOT_FOUND, received=received, feedback=feedback, records=records
        ).accepted
        if feedback is not None:
            self.model.rest(name, feedback)
        self.model.finish(name, Outcome.NOT_FOUND, self.now, received, records)
        self.model.give_up_claim(held, name)

    def settle_for_a_retry(self, name: str, feedback: HostFeedback, received: int) -> None:
        held = self.model.held[name]
        assert self.driver.settle(
            held.task,
            Outcome.TIMED_OUT,
            retry=True,
            received=received,
            feedback=feedback,
            records=self._records(name),
        ).accepted
        self.model.rest(name, feedback)
        self.model.end(name, self.now, received)
        self.model.urls[name].attempts += 1
        self.model.wait_again(name)
        self.model.give_up_claim(held, name)

    def _records(self, name: str) -> tuple[Record, ...] | None:
        """Return what a module has extracted of a URL: nothing from every fourth one."""
        attempt = self.model.urls[name].attempts
        count = (len(name) + attempt) % 4 - 1
        if count < 0:
            return None
        return tuple(Record("mine", f'{{"{name}":{attempt}}}'.encode()) for _ in range(count))

    def retry_failed(self, outcome: Outcome, hosts: list[str]) -> None:
        """Let what has ended so wait again, on some hosts or on all."""
        model = self.model
        failed = [
            name
            for name, url in model.urls.items()
            if (url.state, url.outcome) == ("finished", outcome)
            and (not hosts or host_of(name) in hosts)
        ]
        assert self.driver.retry_failed(outcome, hosts=hosts) == len(failed)
        for name in failed:
            model.visit_again(name)
            model.host(name).failures = 0

    # -- time and death --------------------------------------------------------------------------

    def reap(self) -> None:
        self.driver.reap()
        self.model.lapse(self.now)
        if not math.isinf(self.model.rules.keep_s):  # what expires is looked for where it is stored
            self.commit()
        self.driver.expire()

    def dismiss(self, worker: int, culprit: str | None, received: int, times: int) -> None:
        """Let a worker die, perhaps of a URL; that may be told more than once."""
        for _ in range(times):
            self.driver.dismiss(worker, culprit, received=received)
        self.model.dismiss(worker, culprit, received, self.now)

    def check_workers(self) -> None:
        """Check what is told of the workers."""
        views = {view.number: view for view in self.driver.workers()}
        assert views.keys() == self.model.alive.keys()
        for worker, view in views.items():
            assert view.silent_s == pytest.approx(self.now - self.model.alive[worker])
            held = [name for name, one in self.model.held.items() if one.worker == worker]
            assert view.in_progress == len(held)
            assert view.hosts >= len({host_of(name) for name in held})

    def commit(self) -> None:
        self.driver.commit()
        self._note_commit()

    def _note_commit(self) -> None:
        model = self.model
        model.saved = copy.deepcopy(model.kept)
        self._committed = copy.deepcopy(vars(model))
        reads = self.driver.setup.open_to_read()
        if reads is not None:
            with closing(reads):
                StoredRows(reads, model, self.now).check()

    def take_over(self) -> None:
        """Let another process go on from the last commit, with the workers that live.

        Leases that were not committed were never handed out.
        """
        self.driver.take_over()
        held = [one.task for one in self.model.held.values()]
        vars(self.model).update(copy.deepcopy(self._committed), rules=self.driver.rules)
        self._is_begun = False
        model = self.model
        still_held = {one.task for one in model.held.values()}
        model.lost += [task for task in held if task not in still_held]
        for worker in model.alive:
            self.join(worker)

    def crash(self) -> None:
        self.driver.crash()
        self._stop(crashed=True)

    def end_in_order(self) -> None:
        self.driver.reopen()
        self._stop(crashed=False)
        self.model.saved = copy.deepcopy(self.model.kept)

    def change_connections(self, host_connections: int) -> None:
        """Let the next run have other connections to a host."""
        rules = self.driver.rules
        scheduler = msgspec.structs.replace(rules.scheduler, host_connections=host_connections)
        self.driver.rules = self.model.rules = msgspec.structs.replace(rules, scheduler=scheduler)

    def _stop(self, *, crashed: bool) -> None:
        self.model.stop(self.now, crashed=crashed)
        self._is_begun = False


def sketch_for(content: str) -> Sketch | None:
    changed = CONTENTS[content]
    return None if changed is None else sketch_of("the family", changed)


def own_for(content: str) -> bytes:
    changed = OWN[content]
    return b"" if changed is None else own_of(changed)
