"""`save`: every page as a numbered file, as the classic crawler has them (see `page_directory`).

A page that is delivered again replaces its own file. So a crawl that was killed and continued ends
with each page once, numbered without holes. After a loss of power files of the last half minute or
so can be missing or empty although their pages are settled (Linux writes dirty pages back within
about 30 seconds); the next start says so. To flush every file would cost more than fetching it.

The workers of a crawl write to one directory together: no two of them have the same page.
"""

import logging
from pathlib import Path

from gossamer.errors import CrawlError
from gossamer.model import Page
from gossamer.modules.contract import ModuleContext
from gossamer.modules.page_directory import PageDirectory

LOG = logging.getLogger("gossamer.modules")


class Save:
    """Writes each page to pages/ID: the URL, the depth, then the body byte for byte.

    On the event loop: a page costs less than the way to a thread and back, and a disk that hangs
    should hold up the crawl rather than cost a page.
    """

    on_loop = True
    _pages: PageDirectory
    """Made by `open`."""

    def __init__(self, folder: str = "pages") -> None:
        self._folder = folder

    def prepare(self, context: ModuleContext) -> None:
        """Remove what a crashed crawl left."""
        path = context.directory / self._folder
        pages = self._made(path)
        if context.shared:
            return  # workers elsewhere may be at work: the files of others are theirs
        try:
            present = pages.remove_unsettled(context.is_settled)
        except OSError as error:
            raise _unprepared(path, error) from error
        if present < context.settled:
            LOG.warning(
                "%d of the %d pages of the crawl so far are not in %s: they were lost "
                "in a power failure, or fetched without 'save'",
                context.settled - present,
                context.settled,
                path,
            )

    def open(self, context: ModuleContext) -> None:
        """Make the folder, on a machine on which nobody has prepared it."""
        self._pages = self._made(context.directory / self._folder)

    def page(self, page: Page) -> None:
        """Write the page, or write it again."""
        self._pages.save(page)

    def depth_changed(self, page_id: int, depth: int) -> None:
        """Put the new depth into the page's file."""
        self._pages.set_depth(page_id, depth)

    def _made(self, path: Path) -> PageDirectory:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unprepared(path, error) from error
        return PageDirectory(path)


def _unprepared(path: Path, error: OSError) -> CrawlError:
    return CrawlError(
        f"cannot prepare the page directory {path}: {error.strerror}; fix this and run the same "
        "command again"
    )
