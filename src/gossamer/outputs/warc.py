"""An archive as an output: appended to, rotated by size, cut at a position."""

import errno
import uuid
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from gossamer import __version__
from gossamer.content.sniff import parse_content_type
from gossamer.model import Page
from gossamer.outputs.contract import (
    OutputReport,
    OutputSpec,
    PositionLostError,
    note_of_expired,
)
from gossamer.outputs.journal import AppendFile
from gossamer.outputs.warc_records import (
    REVISIT,
    Capture,
    Captures,
    IndexEntry,
    IndexLine,
    asked_url,
    page_records,
    payload_digest,
    warc_date,
    warcinfo_record,
    write_sorted,
)
from gossamer.stores.files import publish
from gossamer.stores.url_record import Result

ENDING: Final = ".warc.gz"
_START_BYTES: Final = 4096
_STANDARD: Final = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_NO_MARK: Final = str(uuid.UUID(int=0))


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
        number, files = 1, []
        while paths := [*filter(_exists, (self.final(number), self.part(number)))]:
            for path in paths:
                self._check_own(path, number)
            files.append(paths[-1])
            number += 1
        if _exists(self.index) and _size(self.index) != _size(journal):
            raise _foreign(self.index)
        self.index.unlink(missing_ok=True)
        for number, path in enumerate(files, 1):
            if number > last:
                path.unlink()
            else:
                path.rename(self.part(number))
        if len(files) < last:
            raise PositionLostError

    def check_free(self, number: int) -> None:
        """Refuse to begin a file whose name somebody else has taken."""
        if _exists(self.final(number)):
            raise _foreign(self.final(number))

    def finish(self, last: int) -> int:
        """Give all files their names; return their size."""
        size = 0
        for number in range(1, last + 1):
            publish(str(self.part(number)), str(self.final(number)))
            size += self.final(number).stat().st_size
        return size

    def _check_own(self, path: Path, number: int) -> None:
        if path.is_symlink() or not path.is_file():
            raise _foreign(path)
        with path.open("rb") as file:
            start = file.read(_START_BYTES)
        try:
            first = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(start)
        except zlib.error:
            first = b""
        is_new = not start and path == self.part(number)  # it was killed before it could begin
        if not is_new and self.record_id(number).encode() not in first:
            raise _foreign(path)


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _size(path: Path) -> int:
    return path.lstat().st_size if path.exists() else -1


def _foreign(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{path} was not written by this crawl")


class ArchivePosition(msgspec.Struct, frozen=True, array_like=True):
    """How far an archive is."""

    mark: str
    file: int = 1
    """The number of its last file."""
    size: int = 0
    """The size of that file."""
    index_size: int = 0
    pages: int = 0
    missing: int = 0
    """How many pages had no content any more."""


class WarcOutput:
    """One archive."""

    follows_depths = False
    add_alias = None

    def __init__(self, spec: OutputSpec) -> None:
        self._spec = spec
        self._mark_file = spec.folder / f"{spec.key}.mark"
        self._captures = Captures(spec.folder / f"{spec.key}.captures")
        self._at = ArchivePosition("")
        self._files = ArchiveFiles(spec.path, _NO_MARK)
        self._file: AppendFile | None = None
        self._warcinfo = ""
        """The id of the record that the file begins with."""
        self._has_pages = False
        """Whether the file has pages already, and another may be begun."""

    def wants_page(self, result: Result) -> bool:
        """Tell whether a result is a page."""
        return result.page_id is not None

    def rewind(self, position: bytes | None) -> None:
        """Open the archive, and cut it at a position."""
        self.close()
        mark = self._mark()
        at = msgspec.msgpack.decode(position, type=ArchivePosition) if position else None
        if at is not None and at.mark != mark:
            raise PositionLostError
        self._files = ArchiveFiles(self._spec.path, mark)
        self._files.reopen(0 if at is None else at.file, self._captures.path)
        self._at = at or ArchivePosition(mark)
        self._captures.open(self._at.index_size)
        self._begin(self._at.file, self._at.size)

    def write(self, result: Result, page: Page | None) -> None:
        """Add the records of a page."""
        if page is None:
            self._count(missing=self._at.missing + (result.page_id is not None))
            return
        digest = payload_digest(page)
        earlier = self._captures.find(digest)
        date = warc_date(int(page.fetched_at))
        url = asked_url(page)
        visit = Capture(url, date)
        if earlier == visit or self._captures.has_revisit(visit):
            return  # it is there: it had replaced an earlier visit before that was written
        records = page_records(page, digest, earlier, self._warcinfo)
        size = self._opened.size + len(records.answer) + len(records.others)
        if self._has_pages and size > self._spec.warc_size:
            self._rotate()
            records = page_records(page, digest, earlier, self._warcinfo)
        mime = parse_content_type(page.content_type).essence or "unk"
        entry = IndexEntry(
            url=url,
            mime=mime if earlier is None else REVISIT,
            status=str(page.status),
            digest=digest,
            length=str(len(records.answer)),
            offset=str(self._opened.size),
            filename=self._files.final(self._at.file).name,
        )
        self._captures.add(IndexLine("".join(filter(str.isdigit, date)), entry))
        self._opened.append(records.answer)
        self._opened.append(records.others)
        self._has_pages = True
        self._count(pages=self._at.pages + 1)

    def flush(self) -> bytes:
        """Make the archive durable."""
        self._opened.flush()
        self._captures.flush()
        self._count(size=self._opened.size, index_size=self._captures.size)
        return msgspec.msgpack.encode(self._at)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Write the index, and give the files their names."""
        self.flush()
        index = self._files.index
        part = Path(f"{index}.part")
        with part.open("wb") as file:
            write_sorted(self._captures.lines(), file)
        size = self._files.finish(self._at.file)
        publish(str(part), str(index))
        self.close()
        return OutputReport(
            target=self._spec.target,
            items=self._at.pages,
            bytes=size,
            files=self._at.file,
            unit="page",
            note=note_of_expired(self._at.missing),
        )

    def close(self) -> None:
        """Leave the archive as it is."""
        self._captures.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def _opened(self) -> AppendFile:
        assert self._file is not None, "an output is rewound before it is used"
        return self._file

    def _mark(self) -> str:
        """Return what tells this archive from others; it is there before the archive is."""
        try:
            return str(uuid.UUID(self._mark_file.read_text().strip()))
        except (FileNotFoundError, ValueError):
            mark = str(uuid.uuid4())
            self._mark_file.write_text(f"{mark}\n")
            return mark

    def _begin(self, number: int, size: int) -> None:
        """Open a file for more records; a new one begins with what it is."""
        self._files.check_free(number)
        self._file = AppendFile(self._files.part(number))
        self._file.open(size)
        self._has_pages = size > 0
        self._warcinfo = self._files.record_id(number)
        if size == 0:
            fields = [("software", f"Gossamer/{__version__}"), ("format", "WARC File Format 1.1")]
            fields.append(("conformsTo", _STANDARD))
            if self._spec.crawl:
                fields.append(("isPartOf", self._spec.crawl))
            name = self._files.final(number).name
            record = warcinfo_record(self._warcinfo, name, fields)
            self._file.append(record)
            self._file.write()

    def _rotate(self) -> None:
        self._opened.flush()
        self._opened.close()
        self._count(file=self._at.file + 1)
        self._begin(self._at.file, 0)

    def _count(self, **changes: int) -> None:
        self._at = msgspec.structs.replace(self._at, **changes)
