"""Outputs in an object store that speaks S3: written here first, and uploaded when complete.

An object cannot be appended to, nor be cut after a crash. So the output is written into a folder of
the crawl's directory as any other, and what is there when it is finished is uploaded, each file
whole. The objects are marked as those of this output: what another crawl has put there, or somebody
else, is never replaced.

Keys and the address of the service come from the usual variables of the environment
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL …) and are never stored.
"""

import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.errors import CrawlError, UsageError
from gossamer.model import Page
from gossamer.outputs.contract import S3_SCHEME, Output, OutputReport, OutputSpec
from gossamer.stores.atomic_files import write_file
from gossamer.stores.results import Result

if TYPE_CHECKING:
    from obstore.store import S3Store

IN_PROGRESS: Final = ".part"
"""The ending of an empty object that says so."""
OWNER_ATTRIBUTE: Final = "gossamer-output"
CHUNK_BYTES: Final = 8 * 1024 * 1024
"""A larger file is sent in several parts of this size, a few at a time."""
RETRIES: Final = 5
RETRY_WITHIN_S: Final = 60
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class S3Address(msgspec.Struct, frozen=True):
    """Where an output is to be in an object store."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"{S3_SCHEME}{self.bucket}/{self.key}"


def parse_s3_address(text: str) -> S3Address:
    """Return the address `s3://BUCKET/KEY`; UsageError says what is wrong with it."""
    bucket, _, key = text.removeprefix(S3_SCHEME).partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{text}: {bucket!r} is not the name of a bucket, as in s3://BUCKET/NAME")
    parts = key.split("/")
    if not parts[-1] or any(part in {"", ".", ".."} for part in parts):
        raise UsageError(f"{text} does not name an object, as in s3://{bucket}/crawl/pages.jsonl")
    return S3Address(bucket, key)


class Bucket:
    """The place of one output in an object store."""

    def __init__(
        self, address: S3Address, owner: str, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._address = address
        self._owner = owner
        self._store = _connect(address.bucket, environment)

    def begin(self) -> None:
        """Put a mark there that an output is in progress; refuse what cannot be written.

        Before the crawl, as that may take days.
        """
        self._refuse_foreign(self._address.key)
        self._put(self._address.key + IN_PROGRESS, b"")

    def upload(self, file: Path, name: str) -> None:
        """Put a file beside the output's own name."""
        folder, slash, _ = self._address.key.rpartition("/")
        self._refuse_foreign(f"{folder}{slash}{name}")
        self._put(f"{folder}{slash}{name}", file)

    def complete(self) -> None:
        """Take the mark away."""
        import obstore  # noqa: PLC0415

        with suppress(CrawlError, _NothingThereError), _explained(str(self._address)):
            obstore.delete(self._store, self._address.key + IN_PROGRESS)

    def _put(self, key: str, content: Path | bytes) -> None:
        import obstore  # noqa: PLC0415

        address = f"{S3_SCHEME}{self._address.bucket}/{key}"
        mark = {OWNER_ATTRIBUTE: self._owner}
        try:
            with _explained(address):
                obstore.put(self._store, key, content, attributes=mark, chunk_size=CHUNK_BYTES)
        except _NothingThereError as nothing:
            raise UsageError(
                f"{address}: there is no bucket {self._address.bucket}: make it first"
            ) from nothing

    def _refuse_foreign(self, key: str) -> None:
        import obstore  # noqa: PLC0415

        address = f"{S3_SCHEME}{self._address.bucket}/{key}"
        try:
            with _explained(address):
                found = obstore.get(self._store, key, options={"head": True})
        except _NothingThereError:
            return
        if not self._owner or found.attributes.get(OWNER_ATTRIBUTE) != self._owner:
            raise UsageError(
                f"{address} is there and was not written by this crawl, which leaves it alone: "
                "name another object"
            )


def check_upload(spec: OutputSpec) -> None:
    """Refuse an output that cannot be uploaded; the folder of its state may not be there yet."""
    Bucket(parse_s3_address(spec.target), _read_owner(spec)).begin()


class UploadedOutput:
    """An output that is written into a folder, and uploaded when it is finished."""

    def __init__(self, local: Output, spec: OutputSpec) -> None:
        self._local = local
        self._spec = spec

    @property
    def follows_depths(self) -> bool:
        """Whether it shows the depths of pages."""
        return self._local.follows_depths

    def wants_page(self, result: Result) -> bool:
        """Tell whether it needs the page of a result."""
        return self._local.wants_page(result)

    def rewind(self, position: bytes | None) -> None:
        """Open it, and drop what was written after a position."""
        self._spec.path.parent.mkdir(exist_ok=True)
        self._local.rewind(position)

    def write(self, result: Result, page: Page | None) -> None:
        """Add a result."""
        self._local.write(result, page)

    def flush(self) -> bytes:
        """Make everything so far durable here; return the position."""
        return self._local.flush()

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

    def close(self) -> None:
        """Leave it as it is, in progress."""
        self._local.close()


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


class _NothingThereError(Exception):
    """There is no such object."""


def _connect(bucket: str, environment: Mapping[str, str]) -> "S3Store":
    try:
        from obstore.store import S3Store  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "an output in s3:// needs a library that is not installed: pip install 'gossamer[s3]'"
        ) from error
    endpoint = next((found for name in _ENDPOINTS if (found := environment.get(name))), None)
    if not endpoint and not environment.get("AWS_ACCESS_KEY_ID"):
        raise UsageError(
            "an output in s3:// needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and "
            "AWS_ENDPOINT_URL for a service other than Amazon's"
        )
    return S3Store(
        bucket,
        endpoint=endpoint,
        client_options={"allow_http": bool(endpoint and endpoint.startswith("http://"))},
        retry_config={
            "max_retries": RETRIES,
            "retry_timeout": timedelta(seconds=RETRY_WITHIN_S),
        },
    )


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn what the library raises into an error that says what to do."""
    from obstore.exceptions import BaseError  # noqa: PLC0415

    try:
        yield
    except FileNotFoundError as error:
        raise _NothingThereError(str(error)) from error
    except (BaseError, OSError) as error:
        words = " ".join(str(error).partition("Debug source:")[0].split())[:300]
        raise CrawlError(
            f"cannot reach or write {address} ({words}): check the keys and the service; nothing "
            "is lost, and `gossamer resume` or `gossamer export` tries again"
        ) from error
