"""A module that keeps some pages longer than others, so that they settle out of order."""

import asyncio

from gossamer import Page


class Uneven:
    """Waits, with every page and every news about one."""

    async def page(self, page: Page) -> None:
        """Wait."""
        await asyncio.sleep(page.id % 3 * 0.005)

    async def depth_changed(self, page_id: int, depth: int) -> None:
        """Wait."""
        await asyncio.sleep(page_id % 3 * 0.005)
