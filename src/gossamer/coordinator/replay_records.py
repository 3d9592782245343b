"""The records that a replay brings: those of each page are stored once.

How far they are is a note in the store, written in the same step. The file of `replay_progress`
tells which pages the module was shown in this directory: it is a page behind if the replay was
killed between the two, and then the page is shown again and its records are not stored again.
"""

import time
from collections.abc import Sequence

import msgspec

from gossamer.coordinator.opening import IdleCrawl
from gossamer.coordinator.replay_progress import ReplayProgress
from gossamer.stores.notes import read_note
from gossamer.stores.reading import CrawlReader
from gossamer.stores.results import Record, ReplayedPage


class ReplayRecords:
    """Stores the records of one module."""

    def __init__(self, crawl: IdleCrawl, shown: ReplayProgress) -> None:
        """Begin behind the pages that were shown."""
        self._crawl = crawl
        self._progress = shown
        self._note = f"replay:{shown.module}"

    async def start_over(self) -> None:
        """Have the records of all pages stored once more."""
        await self._store(0, ())

    async def go_on(self, reader: CrawlReader) -> None:
        """Begin behind the pages whose records are stored, if those are more."""
        note = await reader.note(self._note)
        stored = read_note(note, ReplayProgress, f"the note {self._note} in the store is")
        if stored is not None and stored.crawl == self._progress.crawl:
            self._progress = max(self._progress, stored, key=lambda one: one.last)

    async def add(self, page_id: int, records: Sequence[Record]) -> None:
        """Store the records of a page, unless they are."""
        if self._progress.is_due(page_id):
            self._progress = self._progress.after(page_id)
            if records:
                await self._store(page_id, records)

    async def _store(self, page_id: int, records: Sequence[Record]) -> None:
        replayed = ReplayedPage(
            page_id=page_id,
            records=tuple(records),
            note=self._note,
            progress=msgspec.json.encode(self._progress),
        )
        await self._crawl.add_replayed(replayed, time.time())
