"""Large pages, read in a thread, one at a time, so that a worker's requests go on meanwhile."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from gossamer.content import Analyser, Analysis, AnalysisRules, RawPage

LARGE_BYTES: Final = 200_000
"""A page of this size takes about ten milliseconds; a hostile one of 10 MB takes a second."""


class LargePages:
    """Reads large pages; the thread is there from the first of them on."""

    def __init__(self, rules: AnalysisRules) -> None:
        self._analyser = Analyser(rules)  # its cache of links is for one thread
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-large-pages")

    async def analyse(self, page: RawPage, *, with_wording: bool = False) -> Analysis:
        """Return the analysis of a page."""
        loop, analyse = asyncio.get_running_loop(), self._analyser.analyse
        return await loop.run_in_executor(
            self._thread, partial(analyse, page, with_wording=with_wording)
        )
