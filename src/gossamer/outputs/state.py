"""What is kept of an output from one process to the next: up to where it is written, and whose.

It is a small file in the crawl's directory, one for each target. Several positions are kept, the
newest first: a server that fails over may have lost the last results, and what was written of them
is dropped.
"""

from pathlib import Path

import msgspec
import xxhash

from gossamer.errors import CrawlError
from gossamer.outputs.contract import Holds
from gossamer.stores.atomic_files import write_file
from gossamer.stores.ownership import MARKS
from gossamer.stores.results import Result

MARKS_KEPT = 60
FOLDER = "outputs"
"""In the folder of the crawl's marks."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A position of an output, and the last result that is in it."""

    number: int
    url_id: int
    settled_at: float
    position: bytes

    def is_of(self, result: Result) -> bool:
        """Tell whether the result is the one that was written."""
        return (self.number, self.url_id, self.settled_at) == (
            result.number,
            result.url_id,
            result.settled_at,
        )


class Stamp(msgspec.Struct, frozen=True):
    """By which a finished file is recognised."""

    size: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "Stamp | None":
        """Return that of a file; None: it is not there, or it is a directory."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return None if path.is_dir() else cls(found.st_size, found.st_mtime_ns)


class OutputState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an output."""

    target: str
    holds: Holds = "pages"
    fields: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    """The newest first."""
    is_placed: bool = False
    """Whether what has its name is this output, or may be."""
    stamp: Stamp | None = None
    """That of the file when it was finished; None: it goes on, or is a directory."""

    @property
    def written(self) -> int:
        """The number of the last result that is in it for good."""
        return self.marks[0].number if self.marks else 0

    def marked(self, mark: Mark) -> "OutputState":
        """Return the state with one more position."""
        return msgspec.structs.replace(self, marks=(mark, *self.marks[: MARKS_KEPT - 1]))


class StateFile:
    """The file that keeps the state of one output."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder
        self._name = f"{key}.json"

    def read(self) -> OutputState | None:
        """Return the state; None if the crawl has not begun this output."""
        try:
            return msgspec.json.decode((self._folder / self._name).read_bytes(), type=OutputState)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise CrawlError(
                f"{self._folder / self._name}, which tells how far an output is, cannot be read "
                f"({error}): remove it and move the output away, and it is written again"
            ) from error

    def write(self, state: OutputState) -> None:
        """Keep the state; this outlasts a loss of power."""
        write_file(str(self._folder), self._name, [msgspec.json.encode(state)], durable=True)


def read_states(folder: Path) -> list[OutputState]:
    """Return what is known of each output of a crawl, by their names."""
    files = sorted(folder.glob(f"*-{'[0-9a-f]' * 8}.json"))
    states = [StateFile(folder, file.stem).read() for file in files]
    return [state for state in states if state is not None]


def state_folder(directory: Path) -> Path:
    """Return where the states of the outputs of a crawl are, in its directory."""
    return directory / MARKS / FOLDER


def key_of(target: str) -> str:
    """Return what the files of an output are called in the folder of states."""
    return f"{Path(target).name[:60]}-{xxhash.xxh3_64_hexdigest(target.encode())[:8]}"
