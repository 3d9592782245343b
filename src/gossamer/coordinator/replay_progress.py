"""The progress of a replay: a small file beside the results of the module, whole at any moment.

It is written after each page, so that a replay that is killed shows at most one page twice.
"""

import re
from pathlib import Path
from typing import Self

import msgspec
import xxhash

from gossamer.errors import CrawlError
from gossamer.stores.atomic_files import write_file


class ReplayProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Which kept pages a module has been shown."""

    module: str
    crawl: float
    """When the crawl began: another crawl in the same directory is shown from its start."""
    last: int = 0
    """The largest number of a page that was its turn."""
    gaps: tuple[int, ...] = ()
    """The smaller numbers that no page had: a crawl that goes on gives them to its next pages."""

    def is_due(self, number: int) -> bool:
        """Tell whether a page has not had its turn yet."""
        return number > self.last or number in self.gaps

    def after(self, number: int) -> Self:
        """Return the progress after the turn of a page that was due."""
        if number <= self.last:
            gaps = tuple(gap for gap in self.gaps if gap != number)
        else:
            gaps = (*self.gaps, *range(self.last + 1, number))
        return msgspec.structs.replace(self, last=max(self.last, number), gaps=gaps)


class ProgressFile:
    """The file that keeps how far a module is."""

    def __init__(self, directory: Path, module: str, crawl: float) -> None:
        self._start = ReplayProgress(module=module, crawl=crawl)
        self._directory = directory
        word = re.sub(r"[^A-Za-z0-9]+", "-", module).strip("-")[-40:]
        self._name = f".replay-{word}-{xxhash.xxh3_64_hexdigest(module.encode())[:8]}.json"

    def read(self) -> ReplayProgress:
        """Return how far the module is; at its start if it was not shown any page of this crawl."""
        try:
            found = msgspec.json.decode(
                (self._directory / self._name).read_bytes(), type=ReplayProgress
            )
        except FileNotFoundError:
            return self._start
        except (OSError, msgspec.DecodeError) as error:
            raise CrawlError(
                f"cannot read {self._directory / self._name}, which tells how far the replay is "
                f"({error}): --from-start shows all pages again"
            ) from error
        same = (found.module, found.crawl) == (self._start.module, self._start.crawl)
        return found if same else self._start

    def start_over(self) -> ReplayProgress:
        """Return the start, which is where a replay goes on from now on."""
        self.write(self._start)
        return self._start

    def write(self, progress: ReplayProgress) -> None:
        """Keep how far the module is; this outlasts the process."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            write_file(str(self._directory), self._name, [msgspec.json.encode(progress)])
        except OSError as error:
            raise CrawlError(
                f"cannot write how far the replay is into {self._directory}: {error.strerror}"
            ) from error
