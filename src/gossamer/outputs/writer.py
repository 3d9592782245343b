"""The writer of outputs: follows the log of results, and hands it over to each of them.

The log holds what is durable, and nothing else: an output never has what a kill could take back
from the crawl. Outputs may stand at different places, because one was added later.
"""

import asyncio
import time
from array import array
from collections.abc import Callable, Sequence

from gossamer.content.page_parser import ParseRules
from gossamer.model import Page
from gossamer.modules.stored_pages import read_page
from gossamer.outputs.contract import OutputReport, OutputSpec
from gossamer.outputs.resumable import ResumableOutput
from gossamer.outputs.rows import precomputed_row
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import PageRecord, Result

BATCH = 200
"""How many results are read at once, at most."""
BATCH_BYTES = 8_000_000
"""How large their rows may be together; if they are larger, fewer are read the next time."""
FLUSH_EVERY_S = 1.0
APART_S = 0.5


class OutputWriter:
    """Writes the outputs of one crawl."""

    def __init__(
        self,
        specs: Sequence[OutputSpec],
        rules: ParseRules,
        *,
        start: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; kept pages are read by the rules. New outputs begin after the result `start`."""
        self._outputs = [ResumableOutput(spec, start) for spec in specs]
        self._rules = rules
        self._clock = clock
        self._flush_at = clock() + FLUSH_EVERY_S
        self.stopped = False

    @property
    def flushed(self) -> int:
        """The number of the last result that all outputs have for good."""
        return min(output.flushed for output in self._outputs)

    @property
    def number(self) -> int:
        """The number of the last result that all outputs were handed."""
        return min(output.number for output in self._outputs)

    def lock(self) -> None:
        """Keep others from writing the outputs; to be called before the log is opened."""
        for output in self._outputs:
            output.lock()

    async def open(self, reader: CrawlReader) -> None:
        """Open each output where it was left."""
        for output in self._outputs:
            await output.open(reader)

    async def follow(self, reader: CrawlReader) -> None:
        """Hand over what is new in the log, to its end as it is now, or until stopped."""
        for output in self._outputs:
            await output.check(reader)
        limit = BATCH
        while not self.stopped and (results := await reader.results(self.number, limit)):
            for result in results:
                await self._hand_over(result, reader)
            read = sum(len(result.row or b"") for result in results)
            limit = max(1, limit // 4) if read > BATCH_BYTES else min(BATCH, 2 * limit)
            self._flush_if_due()
            await asyncio.sleep(0)
        self._flush_if_due()

    async def _hand_over(self, result: Result, reader: CrawlReader) -> None:
        takers = [output for output in self._outputs if output.number < result.number]
        page: Page | None = None
        if result.page_id is not None and any(output.wants_page(result) for output in takers):
            record = await reader.page(result.page_id)
            if record is not None and _was_visited_since(record, result):
                for output in takers:  # the result of that visit has the page
                    output.skip(result)
                return
            if record is not None:
                parsed = precomputed_row(result).parsed
                page = await read_page(reader, record, self._rules, parsed)
        for output in takers:
            output.take(result, page)

    def _flush_if_due(self) -> None:
        if self._clock() >= self._flush_at:
            self.flush()

    def flush(self) -> None:
        """Make everything durable that was handed over."""
        for output in self._outputs:
            output.flush()
        self._flush_at = self._clock() + FLUSH_EVERY_S

    async def finish(self, reader: CrawlReader) -> list[OutputReport]:
        """Complete every output; they can be opened again, and go on."""
        depths: Sequence[int] = ()
        if any(output.follows_depths for output in self._outputs):
            depths = await _read_depths(reader)
        if takers := [output for output in self._outputs if output.takes_aliases]:
            async for url, page_id in reader.aliases():
                for output in takers:
                    output.add_alias(url, page_id)
        return [output.finish(depths) for output in self._outputs]

    def discard(self) -> None:
        """Remove the outputs, which are not finished."""
        for output in self._outputs:
            output.discard()

    def close(self) -> None:
        """Leave the outputs as they are."""
        for output in self._outputs:
            output.close()


def _was_visited_since(page: PageRecord, result: Result) -> bool:
    """Tell whether a page is another version than that of a result.

    Visits of a page are at least a second apart; stores round their times to less than that.
    """
    return page.visits > 1 and page.fetched_at > result.settled_at + APART_S


async def _read_depths(reader: CrawlReader) -> Sequence[int]:
    """Return the depths of all pages by their numbers; -1 where there is none."""
    depths = array("i", [-1]) * (await reader.last_page() + 1)
    async for number, depth in reader.depths():
        if number < len(depths):
            depths[number] = depth
    return depths
