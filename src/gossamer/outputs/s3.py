"""Outputs in an object store that speaks S3: written here first, and uploaded when complete.

An object cannot be appended to, nor be cut after a crash. So the output is written into a folder of
the crawl's directory as any other, and what is there when it is finished is uploaded, each file
whole. The objects are marked as those of this output: what another crawl has put there, or somebody
else, is never replaced.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import GossamerError
from gossamer.outputs.contract import Output, OutputReport, OutputSpec
from gossamer.stores.files import write_file
from gossamer.stores.object_store import (
    NoObjectError,
    ObjectMark,
    ObjectStore,
    S3Address,
    parse_s3_address,
)

IN_PROGRESS: Final = ".part"
"""The ending of an empty object that says so."""
OWNER_ATTRIBUTE: Final = "gossamer-output"


class Bucket:
    """The place of one output in an object store."""

    def __init__(
        self, address: S3Address, owner: str, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._address = address
        mark = ObjectMark(OWNER_ATTRIBUTE, owner)
        self._objects = ObjectStore(address.bucket, mark, environment)

    def begin(self) -> None:
        """Put a mark there that an output is in progress; refuse what cannot be written.

        Before the crawl, as that may take days.
        """
        self._objects.refuse_foreign(self._address.key)
        self._objects.put(self._address.key + IN_PROGRESS, b"")

    def upload(self, file: Path, name: str) -> None:
        """Put a file beside the output's own name."""
        folder, slash, _ = self._address.key.rpartition("/")
        key = f"{folder}{slash}{name}"
        self._objects.put_own(key, file)

    def complete(self) -> None:
        """Take the mark away."""
        with suppress(GossamerError, NoObjectError):
            self._objects.delete(self._address.key + IN_PROGRESS)


def check_upload(spec: OutputSpec) -> None:
    """Refuse an output that cannot be uploaded; the folder of its state may not be there yet."""
    Bucket(parse_s3_address(spec.target), _read_owner(spec)).begin()


class UploadedOutput:
    """An output that is written into a folder, and uploaded when it is finished."""

    def __init__(self, local: Output, spec: OutputSpec) -> None:
        self._local = local
        self._spec = spec
        self.follows_depths = local.follows_depths
        self.add_alias = local.add_alias
        self.wants_page = local.wants_page
        self.write = local.write
        self.flush = local.flush
        self.close = local.close

    def rewind(self, position: bytes | None) -> None:
        """Open it, and drop what was written after a position."""
        self._spec.path.parent.mkdir(exist_ok=True)
        self._local.rewind(position)

    def finish(self, depths: Sequence[int]) -> OutputReport:
        """Complete it and upload it; if that fails, it is here and can be uploaded later."""
        report = self._local.finish(depths)
        folder = self._spec.path.parent
        bucket = Bucket(parse_s3_address(self._spec.target), _take_owner(self._spec))
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.suffix != IN_PROGRESS:
                bucket.upload(file, file.relative_to(folder).as_posix())
        bucket.complete()
        return msgspec.structs.replace(report, target=self._spec.target)


def _read_owner(spec: OutputSpec) -> str:
    """Return the word by which the objects of this output are known; empty if it has none yet."""
    file = _owner_file(spec)
    return file.read_text(encoding="ascii") if file.exists() else ""


def _take_owner(spec: OutputSpec) -> str:
    """Return that word; it is drawn at the first upload."""
    if not _read_owner(spec):
        name = _owner_file(spec).name
        write_file(str(spec.folder), name, (secrets.token_hex(16).encode(),), durable=True)
    return _read_owner(spec)


def _owner_file(spec: OutputSpec) -> Path:
    return spec.folder / f"{spec.key}.owner"
