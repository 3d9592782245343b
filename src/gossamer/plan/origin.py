"""The origin of a crawl: where the command ran that last worked on it, for whoever goes on."""

import os
import socket
from pathlib import Path

import msgspec

from gossamer.config import OPTIONS, CrawlOptions
from gossamer.stores.notes import read_note

ORIGIN_NOTE = "origin"


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a crawl was run, and which secrets it had."""

    machine: str
    folder: str
    """The working directory, from which the files of modules and scorers were named."""
    directory: str
    """The directory of the results."""
    secrets: tuple[str, ...] = ()
    """The secret options that were set, by name: their values are not kept."""

    @property
    def is_here(self) -> bool:
        """Whether it was this machine, so that the paths mean the same."""
        return self.machine == socket.gethostname()


def origin_of(options: CrawlOptions, directory: Path) -> Origin:
    """Return the origin of a crawl that this process works on."""
    secrets = [
        one.name for one in OPTIONS if one.secret and getattr(options, one.field) is not None
    ]
    return Origin(
        machine=socket.gethostname(),
        folder=_text(working_directory()),
        directory=_text(working_directory() / directory),
        secrets=tuple(secrets),
    )


def read_origin(note: bytes | None) -> Origin | None:
    """Return the origin that was kept with a crawl, if it was."""
    return read_note(note, Origin, "the origin of the crawl in the store is")


def working_directory() -> Path:
    """Return the working directory, also if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.sep)


def _text(path: Path) -> str:
    """Return a path as JSON can hold it; one that is not UTF-8 is not found again."""
    return str(path).encode(errors="replace").decode()
