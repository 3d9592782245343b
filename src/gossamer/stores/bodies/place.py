"""Where the bodies of a crawl are: what `--bodies` says, and the note that its readers go by."""

import os
from pathlib import Path
from typing import Final

import msgspec

from gossamer.errors import UsageError
from gossamer.stores.notes import read_note
from gossamer.stores.object_store import S3_SCHEME, S3Address, parse_s3_address
from gossamer.stores.ownership import owner_of

BODIES_NOTE: Final = "bodies"
IN_STORE: Final = "store"
SPOOL: Final = "bodies"
"""The folder in the crawl's directory for segments that are not uploaded yet."""


class BodyPlace(msgspec.Struct, frozen=True):
    """Where segments are, for every process of the crawl and whoever reads it."""

    folder: str
    """The absolute path of the folder; with an object store, of segments that are still to be
    uploaded from the machine of the coordinator."""
    bucket: str = ""
    """The address `s3://BUCKET/PREFIX`; empty: the folder is where segments stay."""

    def __str__(self) -> str:
        return self.bucket or self.folder

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder)

    @property
    def address(self) -> S3Address | None:
        """The object store; None: there is none."""
        return parse_s3_address(self.bucket) if self.bucket else None

    def pack(self) -> bytes:
        """Return the note."""
        return msgspec.json.encode(self)


def place_of(option: str, directory: Path) -> BodyPlace | None:
    """Return where `--bodies` wants them, in a crawl with that directory; None: in the store."""
    if option == IN_STORE:
        return None
    if option.startswith(S3_SCHEME):
        folder = str((directory / SPOOL).absolute())
        return BodyPlace(folder, str(parse_s3_address(option)))
    return BodyPlace(os.path.abspath(Path(option).expanduser()))  # noqa: PTH100 -- no links followed


def read_place(note: bytes | None) -> BodyPlace | None:
    """Return where the bodies of a crawl are; None: in the store."""
    return read_note(note, BodyPlace, "the note of where the bodies are is")


def check_change(before: BodyPlace | None, wanted: BodyPlace | None, identity: str) -> None:
    """Refuse to continue a crawl with a place where its readers would miss bodies.

    They may go from the store to segments, and a folder may have been moved.
    """
    if before is None or (wanted is not None and str(wanted) == str(before)):
        return
    if wanted is not None and not wanted.bucket and not before.bucket:
        owner = owner_of(wanted.path)
        if owner is not None and owner.identity == identity:
            return
    raise UsageError(
        f"the bodies of this crawl are in {before}, and its pages refer to them: continue with "
        f"--bodies {before}; if you have moved that directory, name it where it is now"
    )
