"""An archive as an output: appended to, rotated by size, cut at a position."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from gossamer.content.kind import parse_content_type
from gossamer.model import Page
from gossamer.outputs.contract import (
    OutputReport,
    OutputSpec,
    PositionLostError,
    words_about_expired,
)
from gossamer.outputs.warc.captures import REVISIT, Captures
from gossamer.outputs.warc.cdxj import IndexEntry, IndexLine, write_sorted
from gossamer.outputs.warc.files import ArchiveFiles
from gossamer.outputs.warc.records import (
    Capture,
    asked_url,
    page_records,
    payload_digest,
    warc_date,
    warcinfo_record,
)
from gossamer.outputs.written_file import AppendedFile
from gossamer.stores.atomic_files import publish
from gossamer.stores.results import Result
from gossamer.version import __version__

_STANDARD: Final = "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_NO_MARK: Final = str(uuid.UUID(int=0))


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
        own = f"{spec.folder}/{spec.key}"
        self._mark_file = Path(f"{own}.mark")
        self._captures = Captures(Path(f"{own}.captures"))
        self._at = ArchivePosition("")
        self._files = ArchiveFiles(spec.path, _NO_MARK)
        self._file: AppendedFile | None = None
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
            note=words_about_expired(self._at.missing),
        )

    def close(self) -> None:
        """Leave the archive as it is."""
        self._captures.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def _opened(self) -> AppendedFile:
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
        self._file = AppendedFile(self._files.part(number))
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
