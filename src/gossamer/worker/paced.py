"""Requests at the pace of their hosts."""

import asyncio
import time

from gossamer.download import Accept, Client
from gossamer.model import HostKey, Response, Url
from gossamer.policy import Pacing
from gossamer.urls import host_key


class PacedFetch:
    """Sends one request at a time, each no earlier than its host allows."""

    def __init__(self, client: Client, pacing: Pacing) -> None:
        self._client = client
        self._pacing = pacing
        self._turn = asyncio.Lock()

    async def page(self, url: Url) -> Response:
        """Fetch a page."""
        return await self._fetch(url, Accept.PAGE)

    async def robots(self, url: Url) -> Response:
        """Fetch a robots.txt, or what it redirects to."""
        return await self._fetch(url, Accept.ANYTHING)

    async def _fetch(self, url: Url, accept: Accept) -> Response:
        host = host_key(url)
        async with self._turn:
            await self._wait_for(host)
            try:
                return await self._client.fetch(url, accept)
            finally:
                self._pacing.ended(host, time.monotonic())

    async def _wait_for(self, host: HostKey) -> None:
        # Again and again, because a timer may fire a moment early.
        while wait_s := self._pacing.wait_s(host, time.monotonic()):  # noqa: ASYNC110 -- no event
            await asyncio.sleep(wait_s)
