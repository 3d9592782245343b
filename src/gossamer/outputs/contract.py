"""The contract of an output: one file, or one directory, that is written from results.

Whoever writes outputs reads the log of results and hands it over in its order. From time to time
it asks for a position and stores that with the number of the last result. After a crash the output
is rewound to a stored position, and the results after it are handed over again: so each is there
once, whatever was cut. Until it is finished an output is recognisable as one in progress, by its
name.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from gossamer.model import Page, Url
from gossamer.stores.object_store import S3_SCHEME
from gossamer.stores.url_record import Result

Holds = Literal["pages", "records"]
"""What the rows of a table are."""
AddAlias = Callable[[Url, int], None]
"""Takes a URL, and the number of the page that it leads to."""


class OutputSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What an output is to be."""

    target: str
    """Where it goes: an absolute path or an address of S3, without a / at its end."""
    folder: Path
    """For what it keeps beside its target while it may be continued; it is there."""
    key: str
    """What its own files in the folder begin with."""
    crawl: str = ""
    """What the crawl is called."""
    holds: Holds = "pages"
    fields: tuple[str, ...] = ()
    """The columns of a table of pages."""
    is_of_pages: bool = False
    """Whether a table holds pages, also if modules extract records."""
    names_modules: bool = False
    """Whether a record says which module it is from."""
    csv_safe: bool = False
    warc_size: int = 1_000_000_000
    """How large a file of an archive may get."""

    @property
    def is_uploaded(self) -> bool:
        """Whether it goes to an object store when it is finished."""
        return self.target.startswith(S3_SCHEME)

    @property
    def path(self) -> Path:
        """Where it is written on the local disk."""
        if self.is_uploaded:
            return self.folder / f"{self.key}.upload" / self.target.rpartition("/")[2]
        return Path(self.target)

    @property
    def part(self) -> Path:
        """Where it is until it is finished."""
        return self.path.with_name(f"{self.path.name}.part")


class OutputReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an output holds, for people."""

    target: str
    """Where it is: a path or an address."""
    items: int
    """How many rows, records or pages."""
    bytes: int
    files: int = 1
    unit: str = "row"
    """What the items are."""
    note: str = ""
    """What is missing, and why, as the rest of a sentence."""


def note_of_expired(pages: int) -> str:
    """Return how many pages an output lacks because their bodies have expired; empty: none."""
    unit = "page" if pages == 1 else "pages"
    return f"{pages:,} {unit} left out, whose bodies have expired" if pages else ""


class PositionLostError(Exception):
    """What was written up to a position is not there any more: an older one may do."""


class Output(Protocol):
    """One output of a crawl.

    What goes wrong with its files is an `OSError`, which whoever writes explains.
    """

    @property
    def follows_depths(self) -> bool:
        """Whether it shows the depths of pages, which may get smaller until it is finished."""

    @property
    def add_alias(self) -> AddAlias | None:
        """What takes the aliases of pages, before it is finished; None if it has no use for them.

        That is, all URLs that lead to a page of another one, which may have changed since it was
        finished last.
        """

    def wants_page(self, result: Result) -> bool:
        """Tell whether it needs the page of a result; if not, row and records are enough."""

    def rewind(self, position: bytes | None) -> None:
        """Open it, and drop what was written after a position; None: everything.

        `PositionLostError` if there is less than that.
        """

    def write(self, result: Result, page: Page | None) -> None:
        """Add a result; its page comes with it if it is wanted and its body has not expired."""

    def flush(self) -> bytes:
        """Make everything so far durable; return the position."""

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Complete it, and put it in its place under its name.

        `depths` are those of all pages, by their numbers, if it follows them. It can be opened
        again at the last position and be continued.
        """

    def close(self) -> None:
        """Leave it as it is, in progress."""
