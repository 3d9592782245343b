"""The files of an archive: `NAME.warc.gz`, `NAME-00002.warc.gz` … and their index `NAME.cdxj`.

While they are written each name has `.part` at its end. The name that the user gave is always that
of the first file, so that it does not change when a second one is begun.
"""

import errno
import uuid
import zlib
from pathlib import Path
from typing import Final

from gossamer.outputs.contract import PositionLostError
from gossamer.stores.atomic_files import publish

ENDING: Final = ".warc.gz"
_START_BYTES: Final = 4096


class ArchiveFiles:
    """The names of one archive's files, and whose they are.

    Each begins with a record whose number follows from the archive's mark, by which it is known.
    """

    def __init__(self, target: Path, mark: str) -> None:
        self._stem = str(target)[: -len(ENDING)]
        self._mark = uuid.UUID(mark)
        self.index = Path(f"{self._stem}.cdxj")

    def final(self, number: int) -> Path:
        """Return the path of a finished file; the first has the number 1."""
        return Path(f"{self._stem}{ENDING}" if number == 1 else f"{self._stem}-{number:05}{ENDING}")

    def part(self, number: int) -> Path:
        """Return the path of a file that is being written."""
        return Path(f"{self.final(number)}.part")

    def record_id(self, number: int) -> str:
        """Return the id of the first record of a file."""
        return f"<urn:uuid:{uuid.uuid5(self._mark, str(number))}>"

    def reopen(self, last: int, journal: Path) -> None:
        """Make all files parts again, and remove those after the last one that counts.

        Files that are not of this archive are refused before anything is changed; `journal` has the
        same lines as its own index.
        """
        number, found = 1, []
        while paths := [one for one in (self.final(number), self.part(number)) if _exists(one)]:
            for path in paths:
                self._check_own(path, number)
            found.append(paths[-1])
            number += 1
        if _exists(self.index) and _size(self.index) != _size(journal):
            raise _stranger(self.index)
        self.index.unlink(missing_ok=True)
        for number, path in enumerate(found, 1):
            if number > last:
                path.unlink()
            else:
                path.rename(self.part(number))
        if len(found) < last:
            raise PositionLostError

    def check_free(self, number: int) -> None:
        """Refuse to begin a file whose name somebody else has taken."""
        if _exists(self.final(number)):
            raise _stranger(self.final(number))

    def finish(self, last: int) -> int:
        """Give all files their names; return their size."""
        size = 0
        for number in range(1, last + 1):
            publish(str(self.part(number)), str(self.final(number)))
            size += self.final(number).stat().st_size
        return size

    def _check_own(self, path: Path, number: int) -> None:
        if path.is_symlink() or not path.is_file():
            raise _stranger(path)
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
        try:
            first = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(start)
        except zlib.error:
            first = b""
        is_new = not start and path == self.part(number)  # it was killed before it could begin
        if not is_new and self.record_id(number).encode() not in first:
            raise _stranger(path)


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _size(path: Path) -> int:
    return path.lstat().st_size if path.exists() else -1


def _stranger(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{path} was not written by this crawl")
