"""`stats`: counts of the pages by depth, content type and host, in `stats.json`.

The numbers are exact for every page delivered since the file was last written, and the file is
written every 10 seconds and at the end. A crawl that is continued goes on with the numbers of its
file: a page that comes again is not counted again, and pages that were settled in the last seconds
before a crash are missing from it (the next start says how many).
"""

import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from gossamer.model import Page
from gossamer.model.errors import CrawlError, UsageError
from gossamer.modules.contract import ModuleContext
from gossamer.stores.files import write_file
from gossamer.urls import host_key

LOG = logging.getLogger("gossamer.modules")

INTERVAL_S = 10.0
MAX_KEYS = 10_000
"""How many hosts, types or depths are told apart; servers can invent any number of them."""
MAX_KEY_LENGTH = 100
OTHER = "(other)"
RECENT = 4096
"""How many ids are remembered: more than can be in progress or unsettled at a time."""


class Numbers(msgspec.Struct):
    """What `stats.json` holds."""

    pages: int = 0
    bytes: int = 0
    by_depth: dict[str, int] = {}
    """By the depth a page had when it was fetched."""
    by_content_type: dict[str, int] = {}
    by_host: dict[str, int] = {}
    recent: list[tuple[int, int]] = []
    """The ids counted last, from one to another, by which a page that comes again is known."""


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What a page was counted as."""

    bytes: int
    depth: str
    content_type: str
    host: str


class Stats:
    """Counts pages and bytes by depth, content type and host into stats.json."""

    on_loop = True
    in_coordinator = True
    known_options = ()

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._path = Path()
        self._numbers = Numbers()
        self._recent: dict[int, Counted | None] = {}
        """The pages counted last; None for those that an earlier process has counted."""
        self._due = 0.0

    def open(self, context: ModuleContext) -> None:
        """Go on with the numbers of a crawl that is continued."""
        suffix = f"-{context.worker}" if context.worker else ""
        self._path = context.claim_file(f"stats{suffix}.json")
        if context.resumed_from or context.shared:
            self._resume(context)
        self._write()

    def page(self, page: Page) -> None:
        """Count the page; one that had its id before was never settled, and does not count.

        A page that is visited again stays as it was counted.
        """
        if page.is_revisit:
            return
        if page.id in self._recent and self._recent[page.id] is None:
            return
        counted = Counted(
            len(page.body),
            str(page.depth),
            page.content_type.partition(";")[0].strip().lower(),
            host_key(page.url),
        )
        if (before := self._recent.pop(page.id, None)) is not None:
            self._add(before, -1)
        self._recent[page.id] = counted
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        self._add(counted, 1)
        if self._clock() >= self._due:
            self._write()

    def _add(self, counted: "Counted", number: int) -> None:
        numbers = self._numbers
        numbers.pages += number
        numbers.bytes += number * counted.bytes
        count(numbers.by_depth, counted.depth, number)
        count(numbers.by_content_type, counted.content_type, number)
        count(numbers.by_host, counted.host, number)

    def close(self) -> None:
        """Write the final numbers."""
        self._write()

    def _resume(self, context: ModuleContext) -> None:
        try:
            self._numbers = msgspec.json.decode(self._path.read_bytes(), type=Numbers)
        except FileNotFoundError:
            pass  # Asked for from now on only.
        except (OSError, msgspec.MsgspecError) as error:
            raise UsageError(
                f"the numbers so far cannot be read from {self._path} ({error}): remove the file "
                "to count from here on"
            ) from error
        for first, last in self._numbers.recent:
            self._recent |= dict.fromkeys(range(first, min(last, first + RECENT) + 1))
        again = sum(not context.is_settled(number) for number in self._recent)
        counted, settled = self._numbers.pages - again, context.settled
        if counted < settled:
            LOG.warning(
                "%d of the %d pages of the crawl so far are not counted in %s",
                settled - counted,
                settled,
                self._path,
            )

    def _write(self) -> None:
        self._numbers.recent = runs(self._recent)
        content = msgspec.json.format(msgspec.json.encode(self._numbers))
        try:
            write_file(str(self._path.parent), self._path.name, (content, b"\n"))
        except OSError as error:
            raise CrawlError(
                f"cannot write {self._path}: {error.strerror}; fix this and run the same command "
                "again"
            ) from error
        self._due = self._clock() + INTERVAL_S


def count(table: dict[str, int], key: str, number: int) -> None:
    """Add to the key's number; beyond this many keys, to that of all others."""
    key = key[:MAX_KEY_LENGTH]
    if key not in table and (number < 0 or len(table) >= MAX_KEYS):
        key = OTHER
    table[key] = table.get(key, 0) + number
    if not table[key]:
        del table[key]


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return the numbers as runs, each from its first to its last."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
