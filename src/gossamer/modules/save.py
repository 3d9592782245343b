"""`save`: every page as a numbered file.

The files are those of the classic crawler: `pages/17` holds the URL, the depth, then the body byte
for byte. A file is whole or not there (see `atomic_files`), and a page that is delivered again
replaces its own file. So a crawl that was killed and continued ends with each page once, numbered
without holes. After a loss of power files of the last half minute or so can be missing or empty
although their pages are settled (Linux writes dirty pages back within about 30 seconds); the next
start says so. To flush every file would cost more than fetching it.

Of an embedded crawl one process at a time writes to a directory. The workers of a shared crawl may
write to one together: no two of them have the same page.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

from gossamer.errors import CrawlError
from gossamer.model import Page
from gossamer.modules.atomic_files import replace_atomically
from gossamer.modules.contract import ModuleContext
from gossamer.modules.page_file import (
    HIDDEN_NAME,
    hidden_name,
    page_head,
    page_number,
    with_depth,
)

LOG = logging.getLogger("gossamer.modules")


class Save:
    """Writes each page to pages/ID: the URL, the depth, then the body byte for byte.

    On the event loop: a page costs less than the way to a thread and back, and a disk that hangs
    should hold up the crawl rather than cost a page.
    """

    on_loop = True

    def __init__(self, folder: str = "pages") -> None:
        self._folder = folder
        self._path = ""

    def open(self, context: ModuleContext) -> None:
        """Make the folder, and remove what a crashed crawl left: half and unsettled pages."""
        path = context.directory / self._folder
        self._path = str(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if context.shared:
                return  # the files of others are theirs
            present = sweep(path, context.is_settled)
        except OSError as error:
            raise self._failed("prepare", path.name, error) from error
        if present < context.settled:
            LOG.warning(
                "%d of the %d pages of the crawl so far are not in %s: they were lost with the "
                "power, or fetched without 'save'",
                context.settled - present,
                context.settled,
                path,
            )

    def page(self, page: Page) -> None:
        """Write the page, or write it again."""
        self._write(page.id, page_head(page.url, page.depth), page.body)

    def depth_changed(self, page_id: int, depth: int) -> None:
        """Put the new depth into the page's file."""
        try:
            content = Path(self._path, str(page_id)).read_bytes()
        except FileNotFoundError:
            return  # Fetched in an earlier run of the crawl, without this module.
        except OSError as error:
            raise self._failed("read", f"page {page_id}", error) from error
        self._write(page_id, with_depth(content, depth))

    def _write(self, number: int, *parts: bytes) -> None:
        hidden = f"{self._path}/{hidden_name(number)}"
        try:
            replace_atomically(hidden, f"{self._path}/{number}", parts)
        except OSError as error:
            raise self._failed("write", f"page {number}", error) from error

    def _failed(self, what: str, subject: str, error: OSError) -> CrawlError:
        """Return the error that ends the crawl: a page that is not saved must not be settled."""
        return CrawlError(
            f"cannot {what} {subject} in {self._path}: {error.strerror}; the pages before are "
            "whole, and the same command continues when this is mended"
        )


def sweep(path: Path, is_settled: Callable[[int], bool]) -> int:
    """Remove unfinished files and unsettled pages; return how many pages stay.

    Files with other names are not touched.
    """
    stay = 0
    with os.scandir(path) as entries:
        for entry in entries:
            number = page_number(entry.name)
            if HIDDEN_NAME.fullmatch(entry.name) or (number is not None and not is_settled(number)):
                os.unlink(entry.path)  # noqa: PTH108 -- scandir gives paths as text
            elif number is not None and entry.stat().st_size > 0:
                stay += 1
    return stay
