"""The bodies of a crawl outside its store: what its coordinator does for them."""

import asyncio
from typing import Final, Self

from gossamer.config import keep_seconds
from gossamer.coordinator.observer import Observer
from gossamer.coordinator.opening import LedCrawl
from gossamer.errors import CrawlError
from gossamer.frontier.contract import FrontierClient
from gossamer.plan import Plan
from gossamer.stores.bodies.place import BODIES_NOTE, check_change, place_of, read_place
from gossamer.stores.bodies.upkeep import SegmentUpkeep, take_folder
from gossamer.stores.ownership import CrawlOwner

CHECK_EVERY_S: Final = 60.0


class CrawlBodies:
    """The segments of one crawl, while it is worked on."""

    def __init__(
        self, upkeep: SegmentUpkeep | None, store: FrontierClient, keep_s: float, observer: Observer
    ) -> None:
        self._upkeep = upkeep
        self._store = store
        self._keep_s = keep_s
        self._observer = observer
        self._check_at = float("-inf")
        self._failed = False

    @classmethod
    async def open(cls, plan: Plan, opened: LedCrawl, observer: Observer) -> Self:
        """Take the place for the bodies, and tell all processes of the crawl where it is."""
        options, store = plan.options, opened.frontier
        keep_s = keep_seconds(options.keep_s, shared=options.store.is_shared)
        place = place_of(options.bodies, plan.directory)
        check_change(read_place(await store.note(BODIES_NOTE)), place, opened.identity)
        if place is None:
            return cls(None, store, keep_s, observer)
        owner = CrawlOwner(opened.identity, plan.name)
        folder = take_folder(place, owner, plan.directory, first=True)
        upkeep = SegmentUpkeep(place, folder, opened.identity)
        await asyncio.to_thread(upkeep.claim_prefix)
        if options.fresh:
            await asyncio.to_thread(upkeep.clear)
        await asyncio.to_thread(upkeep.finish_left)
        await store.put_note(BODIES_NOTE, place.pack())
        await store.commit()
        return cls(upkeep, store, keep_s, observer)

    async def tick(self, now: float) -> None:
        """Look after the segments, now and then."""
        if self._upkeep is None or now < self._check_at:
            return
        self._check_at = now + CHECK_EVERY_S
        try:
            await asyncio.to_thread(self._upkeep.finish_left)
            await self._expire(self._upkeep, now)
        except (CrawlError, OSError) as error:
            if not self._failed:
                self._observer.say("warning", f"bodies: {error}")
            self._failed = True

    async def finish(self, now: float) -> None:
        """Finish the segments that dead workers have left; CrawlError if they cannot be uploaded.

        They are here still, and the next start tries again.
        """
        if self._upkeep is not None:
            try:
                await asyncio.to_thread(self._upkeep.finish_left)
                await self._expire(self._upkeep, now)
            except OSError as error:
                raise CrawlError(f"the files of bodies cannot be finished: {error}") from error

    async def _expire(self, upkeep: SegmentUpkeep, now: float) -> None:
        """Remove segments to which the store does not refer any more, also not after a crash."""
        if await self._store.expire(now) == 0:
            await self._store.commit()
            await asyncio.to_thread(upkeep.expire, now, self._keep_s)
