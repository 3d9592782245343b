"""The store of a crawl in Redis: every method of the contract is one call of a function."""

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import asdict

from gossamer.content.similarity import Sketch
from gossamer.model import Candidate, HostKey, Receipt, Snapshot
from gossamer.policy.cookies import Cookie, CookieChanges
from gossamer.stores.claim import Claim, StoredBody
from gossamer.stores.contract import Leased, Link, Settled, Settlement, Task
from gossamer.stores.cookies import COOKIES_NOTE, read_jar
from gossamer.stores.figures import HostView, Numbering, WorkerReport, WorkerView
from gossamer.stores.host_feedback import HostFeedback
from gossamer.stores.reasons import cause_counts, outcome_sums, parsed_counts
from gossamer.stores.redis import messages
from gossamer.stores.redis.known_link_cache import KnownLinkCache, place_of
from gossamer.stores.redis.messages import SettleAnswer, SliceAnswer, SnapshotAnswer, pack
from gossamer.stores.redis.script_client import ScriptClient
from gossamer.stores.redis.sliced_links import Bundle, SlicedLinks
from gossamer.stores.redis.unpack import read_body
from gossamer.stores.results import pack_records
from gossamer.stores.retrying import Retried, RetryRequest
from gossamer.stores.rules import StoreRules

CLOSE_WITHIN_S: Final = 3.0
"""How long a server that is away may keep a process from its end."""


class RedisStore:
    """The store of one crawl, in a Redis that any number of processes use.

    A step is as durable as the server makes it as soon as it is answered. Time goes by the server's
    clock; the moments that callers give and get are by their own.
    """

    def __init__(self, script_client: ScriptClient, rules: StoreRules, now: float) -> None:
        self.rules = rules
        self.script_client = script_client
        """What carries the calls."""
        self._started = now
        self._now = now
        self._joined: set[int] = set()
        self._known = KnownLinkCache(rules.revisit_s)

    async def _ask(self, step: str, now: float | None, arguments: object, *blobs: bytes) -> bytes:
        """Return the answer of a step; without a moment, that of the last step counts."""
        if now is not None:
            self._now = now
        return await self.script_client.ask(step, self._now, pack(arguments), *blobs)

    # -- the frontier's side ---------------------------------------------------------------------

    async def add_seeds(self, seeds: Sequence[Link], now: float, depth: int = 0) -> int:
        """Add seeds, or sitemaps, at that depth; return how many are new."""
        links, keys = messages.bundle(seeds, {})
        message = {"depth": depth, **asdict(links)}
        return messages.read_number(await self._ask("add_seeds", now, message, b"".join(keys)))

    async def set_reading(self, reading: bool) -> None:
        """Note whether seeds are still to be added: until then the crawl is not complete."""
        await self._ask("set_reading", None, [int(reading)])

    async def has_room(self) -> bool:
        """Return whether the URL queue has room for more seeds, or URLs of a sitemap."""
        return messages.read_truth(await self._ask("has_room", None, []))

    async def candidates(self, limit: int) -> list[Candidate]:
        """Return the first URLs of the URL queue, which stay there until they are prioritised."""
        top_credit, rows = messages.read_candidates(await self._ask("candidates", None, [limit]))
        return [row.candidate(top_credit) for row in rows]

    async def prioritise(self, scores: Sequence[tuple[Candidate, float]]) -> None:
        """Move URLs from the URL queue into the priority queues; moved ones are left alone."""
        bounded = [
            (candidate.id, 100.0 if math.isnan(score) else min(max(score, 0.0), 100.0))
            for candidate, score in scores
        ]
        await self._ask("prioritise", None, bounded)

    async def route(self, draws: Sequence[Sequence[int]], now: float) -> int:
        """Follow up shorter paths, and assign URLs to workers."""
        return messages.read_number(await self._ask("route", now, [*map(tuple, draws)]))

    # -- the workers' side -----------------------------------------------------------------------

    async def join(self, worker: int, now: float, report: WorkerReport | None = None) -> None:
        """Let a worker take part, or note that it still does."""
        await self._ask("join", now, [worker], *([] if report is None else [pack(report)]))
        self._joined.add(worker)

    async def dismiss(
        self, worker: int, in_hand: Sequence[int], now: float, received: int = 0
    ) -> None:
        """Take back everything from a worker whose process is known to have ended."""
        await self._ask("dismiss", now, (worker, list(in_hand), received))
        self._joined.discard(worker)

    async def lease(self, worker: int, limit: int, now: float, referrers: bool = False) -> Leased:
        """Hand out URLs whose hosts may be asked now, within the budgets."""
        answer = await self._ask("lease", now, (worker, limit, referrers))
        tasks, wake_at = messages.read_leased(answer)
        return Leased(tasks, None if isinstance(wake_at, bool) else wake_at)

    async def renew(self, tasks: Sequence[Task], now: float) -> list[Task]:
        """Extend leases; return the tasks whose lease was lost."""
        leases = [(task.url_id, task.lease) for task in tasks]
        lost = messages.read_numbers(await self._ask("renew", now, leases))
        return [tasks[index - 1] for index in lost]

    async def claim(
        self,
        task: Task,
        digest: bytes,
        sketch: Sketch | None,
        now: float,
        own: dict[int, bytes] | None = None,
    ) -> Claim:
        """Give a page its number, unless the same content or a similar one is kept."""
        lease, read = (task.url_id, task.lease), messages.own_samples(own or {})
        return messages.read_claim(
            await self._ask("claim", now, lease, digest, *_parts(sketch), read)
        )

    async def stored_body(self, page_id: int) -> StoredBody:
        """Return the body of a kept page."""
        return read_body(await self._ask("stored_body", None, [page_id]))

    async def settle(self, settlement: Settlement, now: float) -> Settled:
        """Record everything that came of a task, if its lease is still the newest."""
        return await self._settle("settle", settlement, (), now)

    async def keep(self, settlement: Settlement, sketch: Sketch | None, now: float) -> Settled:
        """Claim a number for the page of a settlement, and settle it."""
        assert settlement.page is not None
        claimed = (settlement.page.digest, *_parts(sketch))
        return await self._settle("keep", settlement, claimed, now)

    async def _settle(
        self, step: str, settlement: Settlement, claimed: Sequence[bytes], now: float
    ) -> Settled:
        task, page, links = settlement.task, settlement.page, settlement.links
        behind = (task.depth, task.hops + 1) if settlement.redirect else (task.depth + 1, 0)
        connection = self.script_client.connections
        known = self._known.on(connection).recognise(links, place_of(*behind), now)
        if settlement.again:
            known = {}  # there may be something new about the target
        sliced = SlicedLinks(links)
        first, *others = sliced.bundles(known)
        kept = (messages.page_note(page), page.content) if page else (b"", b"")
        result = (pack_records(settlement.records), settlement.row or b"")

        def arguments(first: Bundle, *others: Bundle) -> tuple[bytes, ...]:
            message = messages.settle_message(settlement, first.message)
            slices = [part for one in others for part in (pack(one.message), b"".join(one.keys))]
            return (message, *claimed, b"".join(first.keys), *kept, *result, *slices)

        self._now = now
        reply = await self.script_client.ask(
            step,
            now,
            *arguments(first, *others),
            elsewhere=lambda: arguments(*sliced.bundles({})),
        )
        answer = messages.read_settled(reply)
        new, nearer = sliced.keys(0, answer.new), answer.nearer
        self._learn(connection, first.keys, answer, now)
        place = 0
        while answer.accepted and place < len(others):
            added = await self._add_slice(task, now)
            if added.lease != task.lease:
                break  # the router has added the rest
            place = added.place
            new, nearer = new + sliced.keys(place, added.new), nearer + added.nearer
            self._learn(connection, others[place - 1].keys, added, now)
        return Settled(
            accepted=answer.accepted,
            new_links=new,
            nearer=nearer,
            unread=answer.unread,
            repeats=answer.repeats,
        )

    async def _add_slice(self, task: Task, now: float) -> SliceAnswer:
        """Add the next slice of the links of a page that was settled."""
        return messages.read_slice(await self._ask("add_slice", now, [task.url_id]))

    def _learn(
        self, connection: int, keys: Sequence[bytes], answer: SettleAnswer | SliceAnswer, now: float
    ) -> None:
        """Remember the links that went as URLs, if the server is still the same."""
        if answer.learnt and connection == self.script_client.connections:
            self._known.meet(keys, answer.learnt, answer.finished, now)

    async def add_listed(self, task: Task, links: Sequence[Link], now: float) -> int | None:
        """Add URLs that a sitemap lists, while its lease is valid; None: it is not any more."""
        packed, keys = messages.bundle(links, {})
        message = {"url_id": task.url_id, "lease": task.lease, **asdict(packed)}
        new = messages.read_moment(await self._ask("add_listed", now, message, b"".join(keys)))
        return None if isinstance(new, bool) else int(new)

    async def drop_rows(self, upto: int) -> None:
        """Forget the rows of the results up to a number, some at a time."""
        while messages.read_truth(await self._ask("drop_rows", None, [upto])):
            pass

    async def retry_failed(self, request: RetryRequest, first_id: int, now: float) -> Retried:
        """Let failed URLs wait again, of at most `RETRIED_AT_ONCE` from an id on."""
        wanted = (sorted(request.outcomes), sorted(request.hosts), first_id)
        retried, next_id = messages.read_pair(await self._ask("retry_failed", now, wanted))
        return Retried(retried, next_id or None)

    async def cookies(self, domain: str) -> list[Cookie]:
        """Return the cookies of a registered domain, those that were set last at the end."""
        return read_jar(await self.note(COOKIES_NOTE + domain))

    async def put_cookies(self, domain: str, changes: CookieChanges) -> None:
        """Change the cookies of a registered domain."""
        await self._ask("put_cookies", None, (domain, changes.kept, changes.dropped))

    async def pending_depth_changes(self, limit: int) -> list[tuple[int, int]]:
        """Return pages of which the modules know a larger depth, with their depth."""
        return messages.read_pairs(await self._ask("pending_depth_changes", None, [limit]))

    async def confirm_depth_changes(self, pages: Sequence[tuple[int, int]]) -> None:
        """Note that the modules know the depth of these pages."""
        await self._ask("confirm_depth_changes", None, list(pages))

    async def release(
        self, task: Task, feedback: HostFeedback | None, now: float, receipt: Receipt | None = None
    ) -> bool:
        """Give a task back undone; False if the lease was lost."""
        receipt = receipt or Receipt()
        arguments = (
            *(task.url_id, task.lease, feedback or False),
            *(receipt.received, receipt.short),
        )
        return messages.read_truth(await self._ask("release", now, arguments))

    async def acquire_slot(self, host: HostKey, domain: str, now: float) -> float | None:
        """Take the host's slot for a request without a task; None: now, else when to ask again."""
        moment = messages.read_moment(await self._ask("acquire_slot", now, (host, domain)))
        return None if isinstance(moment, bool) else moment

    async def release_slot(
        self, host: HostKey, domain: str, feedback: HostFeedback, now: float
    ) -> None:
        """Give a slot without a task back."""
        await self._ask("release_slot", now, (host, domain, feedback))

    async def reap(self, now: float) -> int:
        """Give back what dead workers have left."""
        return messages.read_number(await self._ask("reap", now, []))

    async def expire(self, now: float) -> int:
        """Drop some of the contents whose time is over; return how many, 0 when none is left."""
        return messages.read_number(await self._ask("expire", now, []))

    async def take_over(self, queues_before: int, rules: bytes) -> None:
        """Lay rules down, and queue everything again that others have left in progress."""
        await self._ask("take_over", None, [queues_before], rules)

    # -- keeping and counting --------------------------------------------------------------------

    async def counts(self) -> SnapshotAnswer:
        """Return the counters, and which numbers of pages are given and free."""
        return messages.read_snapshot(await self._ask("snapshot", None, []))

    async def numbering(self) -> Numbering:
        """Return which numbers of pages are given for good."""
        counts = await self.counts()
        return Numbering(counts.last_page, frozenset(counts.gaps))

    async def snapshot(self, now: float) -> Snapshot:
        """Return how the crawl stands, in numbers."""
        counts = await self.counts()
        ended = parsed_counts(dict(counts.outcomes))
        return Snapshot(
            waiting=counts.waiting,
            in_progress=counts.in_progress,
            finished=sum(urls for _, urls in ended),
            pages=counts.pages,
            visits=counts.visits,
            bytes=counts.bytes,
            received=counts.received,
            listed=counts.listed,
            over_host_urls=counts.over_host_urls,
            outcomes=outcome_sums(ended),
            causes=cause_counts(ended),
            hosts=counts.hosts,
            elapsed_s=now - self._started,
            pages_per_s=0.0,
            ended_by=counts.ended_by,
            relaxing=counts.relaxing,
            max_pages=self.rules.max_pages,
            max_bytes=self.rules.max_bytes,
            resting_s=counts.resting_s,
        )

    async def ended_by(self) -> str | None:
        """Return what ended the crawl; None while it goes on."""
        return (await self.counts()).ended_by

    async def hosts(self, limit: int, now: float) -> list[HostView]:
        """Return the hosts with most to do, and the slowest ones, at most so many of each."""
        return messages.read_hosts(await self._ask("read_hosts", now, [limit]))

    async def workers(self, now: float) -> list[WorkerView]:
        """Return the workers that take part, by number."""
        return messages.read_workers(await self._ask("read_workers", now, []))

    async def ready_hosts(self, now: float) -> int:
        """Return how many hosts wait for a worker that has time for them."""
        return messages.read_number(await self._ask("ready_hosts", now, []))

    async def note(self, name: str) -> bytes | None:
        """Return a note of the crawl; None if there is none of that name."""
        answer = await self._ask("get_note", None, [name])
        return answer[1:] if answer else None  # it stands behind one byte

    async def put_note(self, name: str, value: bytes) -> None:
        """Keep a note of the crawl, in place of one of the same name."""
        await self._ask("put_note", None, [name], value)

    async def commit(self) -> None:
        """Do nothing: what was answered is as durable as the server makes it."""

    async def close(self) -> None:
        """Note that this process ends in order, and let go of the connection."""
        try:
            if self._joined:
                with suppress(TimeoutError):  # whoever comes next waits for a sign of us instead
                    async with asyncio.timeout(CLOSE_WITHIN_S):
                        await self._ask("close", None, sorted(self._joined))
        finally:
            await self.let_go()

    async def let_go(self) -> None:
        """Let go of the connection without a note."""
        await self.script_client.close()


def _parts(sketch: Sketch | None) -> tuple[bytes, bytes]:
    """Return the bands of a sketch, concatenated, and its sample."""
    return (b"".join(sketch.bands), sketch.sample) if sketch else (b"", b"")
