"""Large pages, read in a thread, one at a time, so that a worker's requests go on meanwhile."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from gossamer.codings import ContentPacker
from gossamer.content import Analyser, Analysis, AnalysisRules, RawPage, own_sample
from gossamer.frontier.claim import KeptPage
from gossamer.model import Response
from gossamer.worker.pages import kept_page
from gossamer.worker.unused_memory import give_back_memory

LARGE_BYTES: Final = 200_000
"""A page of this size takes about ten milliseconds; a hostile one of 10 MB takes a second."""

HUGE_BYTES: Final = 1_000_000
"""After a page of this size memory is given back."""


class LargePages:
    """Reads large pages; the thread is there from the first of them on."""

    def __init__(self, rules: AnalysisRules) -> None:
        self._analyser = Analyser(rules)  # its cache of links is for one thread
        self._packer, self._packer_of_thread = ContentPacker(), ContentPacker()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-large-pages")

    async def analyse(self, page: RawPage, *, with_wording: bool = False) -> Analysis:
        """Return the analysis of a page."""
        loop = asyncio.get_running_loop()
        analyse = partial(self._analyse, page, with_wording=with_wording)
        return await loop.run_in_executor(self._thread, analyse)

    async def own_sample(self, body: bytes, content_type: str | None) -> bytes:
        """Return the sample of the own content of a page of any size."""
        if len(body) <= LARGE_BYTES:
            return own_sample(body, content_type)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, own_sample, body, content_type)

    async def kept(self, response: Response, parsed: Analysis, fetched_at: float) -> KeptPage:
        """Return a page of any size as it is kept, without its number."""
        if len(response.body) <= LARGE_BYTES:
            return kept_page(self._packer, response, parsed, fetched_at)
        pack = partial(kept_page, self._packer_of_thread, response, parsed, fetched_at)
        return await asyncio.get_running_loop().run_in_executor(self._thread, pack)

    def _analyse(self, page: RawPage, *, with_wording: bool) -> Analysis:
        analysis = self._analyser.analyse(page, with_wording=with_wording)
        if len(page.body) > HUGE_BYTES:
            give_back_memory()
        return analysis
