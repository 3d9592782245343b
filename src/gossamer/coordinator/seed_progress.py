"""How far the files of seeds of a crawl were read: stored with it, and shown."""

from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import ClassVar

import msgspec

from gossamer.coordinator.seed_source import source_name
from gossamer.model import Url
from gossamer.stores.notes import read_note


class FileProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one file was read."""

    name: str
    """As it was given."""
    path: str = ""
    """Where it is, whatever the working directory; empty until something was read."""
    lines: int = 0
    offset: int = 0
    """Where the next line begins."""
    seeds: int = 0
    too_deep: int = 0
    """How many of the seeds have a greater depth than their host may have."""
    bad: int = 0
    """How many lines were skipped because they are wrong."""
    is_done: bool = False

    @property
    def words(self) -> str:
        """Return `1,000 seeds read from list.txt, 2 bad lines skipped`."""
        deep = f", {self.too_deep:,} of them deeper than --depth" if self.too_deep else ""
        seeds = f"{self.seeds:,} seed{'' if self.seeds == 1 else 's'}"
        bad = f", {self.bad:,} bad line{'' if self.bad == 1 else 's'} skipped" if self.bad else ""
        so_far = "" if self.is_done else f" so far, up to line {self.lines:,}"
        return f"{seeds} read from {source_name(self.name)}{so_far}{deep}{bad}"


class SeedProgress(msgspec.Struct, kw_only=True):
    """How far all of them were read."""

    NOTE: ClassVar[str] = "seeds"
    FIRST: ClassVar[int] = 10

    files: list[FileProgress]
    first: list[Url] = []
    """The first seeds, to say what went wrong if none could be fetched."""

    def add(self, seeds: Iterable[Url]) -> None:
        """Take in seeds that were read."""
        self.first = [*self.first, *islice(seeds, self.FIRST - len(self.first))]

    @property
    def is_begun(self) -> bool:
        """Whether anything was read."""
        return any(one.lines or one.is_done for one in self.files)

    @property
    def is_done(self) -> bool:
        """Whether all were read to the end."""
        return all(one.is_done for one in self.files)


async def read_progress(note: Callable[[str], Awaitable[bytes | None]]) -> SeedProgress | None:
    """Return how far the files of seeds were read; None: nothing was, or there are none."""
    packed = await note(SeedProgress.NOTE)
    return read_note(packed, SeedProgress, "the note of the seeds in the store is")
