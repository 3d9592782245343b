"""The built-in modules: `noop`, and `save`, which writes every page as a numbered file.

A page that is delivered again replaces its own file. So a crawl that was killed and continued ends
with each page once, numbered without holes. After a loss of power files of the last half minute or
so can be missing or empty although their pages are settled (Linux writes dirty pages back within
about 30 seconds); the next start says so. To flush every file would cost more than fetching it.

The workers of a crawl write to one directory together: no two of them have the same page. It is
theirs alone: another crawl, or files of other people, are refused (see `stores/files.py`).
"""

import logging

from gossamer.model import Page
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.contract import ModuleContext
from gossamer.modules.page_directory import FOLDER, PageDirectory

LOG = logging.getLogger("gossamer.modules")


class Noop:
    """Does nothing with the pages (the default)."""

    on_loop = True
    known_options = ()

    def open(self, context: ModuleContext) -> None:
        """Do nothing: there is no method `page`, so no page has to wait for it."""


class Save:
    """Writes each page to pages/ID: the URL, the depth, then the body byte for byte.

    On the event loop: a page costs less than the way to a thread and back, and a disk that hangs
    should hold up the crawl rather than cost a page.
    """

    on_loop = True
    known_options = ("folder",)
    _pages: PageDirectory
    """Made by `open`."""

    def prepare(self, context: ModuleContext) -> None:
        """Remove what a crashed crawl left."""
        present = self._remove_unsettled(context)
        if present < context.settled:
            LOG.warning(
                "%d of the %d pages of the crawl so far are not in %s: they were lost "
                "in a power failure, or fetched without 'save'",
                *(context.settled - present, context.settled, self._pages.path),
            )

    def conclude(self, context: ModuleContext) -> None:
        """Remove what crashed workers left, where no other page came under its number."""
        self._remove_unsettled(context)

    def open(self, context: ModuleContext) -> None:
        """Make the folder, on a machine on which nobody has prepared it."""
        self._pages = PageDirectory(context.claim_folder(context.options.get("folder", FOLDER)))

    def page(self, page: Page) -> None:
        """Write the page, or write it again."""
        self._pages.save(page)

    def depth_changed(self, page_id: int, depth: int) -> None:
        """Put the final depth into the page's file."""
        self._pages.set_depth(page_id, depth)

    def _remove_unsettled(self, context: ModuleContext) -> int:
        """Remove files of pages that are not settled; return how many stay."""
        self.open(context)
        if context.shared or context.replay:
            # Workers elsewhere may be at work, or all files are of pages that are kept.
            return context.settled
        try:
            return self._pages.remove_unsettled(context.is_settled)
        except FileExistsError as error:
            raise UsageError(
                f"{error.filename} is not a page that Gossamer saved, and stays: move it away, or "
                "name another directory with --dir"
            ) from error
        except OSError as error:
            raise CrawlError(
                f"cannot prepare the page directory {self._pages.path}: {error.strerror}; fix this "
                "and run the same command again"
            ) from error
