"""Who analyses the pages: this process, and where it has much to do another one beside it.

To analyse a page takes about as long as everything else that is done for it. So a crawl that is
fast enough to be held up by that, and has a second core, gets a process for it; while that comes
up, and whenever it has enough to do, pages are analysed here. Where it was there from the
beginning, we wait for it: to load the parser here takes as long. A page on which that process dies
is tried once more and then given up: what breaks a parser does not break the crawl.
"""

import logging
import time
from collections.abc import Callable

from gossamer.content import Analyser, Analysis, AnalysisRules, RawPage
from gossamer.content.started_parser import StartedParser
from gossamer.worker.parser_process import ParserDiedError, ParserProcess

LOG = logging.getLogger("gossamer.worker")

WINDOW_S = 0.1
BUSY_SHARE = 0.25
"""From this share of our time on, pages are worth a process of their own."""

MOST_IN_HAND = 32
"""How many pages the other process has at most: enough never to wait for the next."""


class AnalysisError(Exception):
    """A page broke whoever analysed it, twice."""


class ParserPool:
    """Analyses pages; to be closed at the end."""

    def __init__(
        self,
        rules: AnalysisRules,
        *,
        alone: bool = False,
        started: StartedParser | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._analyser = Analyser(rules)
        self._clock = clock
        self._alone = alone
        self._started = started
        self._practised = False
        """Whether we have analysed a page ourselves, and the parser is loaded."""
        self.process: ParserProcess | None = None
        """The other process, while there is one."""
        self._window_began = clock()
        self._busy_s = 0.0

    async def analyse(self, page: RawPage) -> Analysis:
        """Return what is on the page; raise `AnalysisError` if that cannot be found out."""
        process = self.process
        if process is None or not self._has_time(process):
            return self._analyse_here(page)
        try:
            return await process.analyse(page)
        except ParserDiedError as death:
            await self._part_from(process)
            return await self._again(page) if death.culprit else self._analyse_here(page)

    def _has_time(self, process: ParserProcess) -> bool:
        """Tell whether a page is better off with the other process than here."""
        if process.in_hand >= MOST_IN_HAND:
            return False
        return process.ready or not self._practised

    async def close(self) -> None:
        """Let the other process go."""
        if self.process is not None:
            await self._part_from(self.process)

    async def _part_from(self, process: ParserProcess) -> None:
        if self.process is process:
            self.process = None
        await process.close()

    def _analyse_here(self, page: RawPage) -> Analysis:
        began = self._clock()
        analysis = self._analyser.analyse(page)
        self._practised = True
        ended = self._clock()
        self._busy_s += ended - began
        if ended - self._window_began >= WINDOW_S:
            if self._busy_s >= BUSY_SHARE * (ended - self._window_began):
                self.get_help()
            self._window_began, self._busy_s = ended, 0.0
        return analysis

    def get_help(self) -> None:
        """Have another process work beside us, where that can be."""
        if self.process is not None or self._alone:
            return
        started, self._started = self._started, None
        try:
            self.process = ParserProcess(self._analyser.rules, started)
        except OSError as error:
            self._alone = True
            LOG.warning("pages are analysed without a process of their own: %s", error)

    async def _again(self, page: RawPage) -> Analysis:
        """Have another process look at a page on which one died."""
        try:
            process = ParserProcess(self._analyser.rules)
        except OSError as error:
            raise AnalysisError from error
        try:
            return await process.analyse(page)
        except ParserDiedError as death:
            raise AnalysisError from death
        finally:
            await process.close()
