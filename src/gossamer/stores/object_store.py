"""An object store that speaks S3: what is put there is marked as its writer's, and nobody else's.

Keys and the address of the service come from the usual variables of the environment
(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL …) and are never stored.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.model.errors import CrawlError, UsageError

if TYPE_CHECKING:
    from obstore.store import S3Store

S3_SCHEME: Final = "s3://"
CHUNK_BYTES: Final = 8 * 1024 * 1024
"""A larger file is sent in several parts of this size, a few at a time."""
RETRIES: Final = 5
RETRY_WITHIN: Final = timedelta(seconds=60)
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


class S3Address(msgspec.Struct, frozen=True):
    """Where something is to be in an object store."""

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


class NoObjectError(Exception):
    """There is no such object."""


class ObjectMark(msgspec.Struct, frozen=True):
    """What tells the objects of one writer from all others."""

    attribute: str
    value: str
    """Empty: nothing there is known to be its own."""


class ObjectStore:
    """A bucket, for one writer or for readers."""

    def __init__(
        self,
        bucket: str,
        mark: ObjectMark | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._bucket = bucket
        self._mark = mark
        self._store = _connect(bucket, environment)

    def put(self, key: str, content: Path | bytes) -> None:
        """Write an object, marked; one that is there is replaced."""
        assert self._mark is not None, "who only reads writes nothing"
        attributes = {self._mark.attribute: self._mark.value}
        try:
            with self._explained(key):
                self._store.put(key, content, attributes=attributes, chunk_size=CHUNK_BYTES)
        except NoObjectError as nothing:
            raise UsageError(
                f"{self._name(key)}: there is no bucket {self._bucket}: make it first"
            ) from nothing

    def put_own(self, key: str, content: Path | bytes) -> None:
        """Write an object, marked; one that is there is replaced if it has the mark."""
        self.refuse_foreign(key)
        self.put(key, content)

    def refuse_foreign(self, key: str) -> None:
        """Refuse an object that is there and does not have the mark."""
        try:
            with self._explained(key):
                attributes = self._store.get(key, options={"head": True}).attributes
        except NoObjectError:
            return
        mark = self._mark
        if not mark or not mark.value or attributes.get(mark.attribute) != mark.value:
            raise UsageError(
                f"{self._name(key)} is there and was not written by this crawl, which leaves it "
                "alone: name another object"
            )

    def delete(self, key: str) -> None:
        """Remove an object, which the caller knows to be its own."""
        with self._explained(key):
            self._store.delete(key)

    def read(self, key: str) -> bytes:
        """Return an object; NoObjectError if there is none."""
        with self._explained(key):
            return bytes(self._store.get(key).bytes())

    def read_part(self, key: str, start: int, length: int) -> bytes:
        """Return bytes of an object, fewer if it ends before; NoObjectError if there is none."""
        with self._explained(key):
            return bytes(self._store.get_range(key, start=start, length=length))

    def keys(self, prefix: str) -> list[str]:
        """Return the keys of all objects in a folder, which is what S3 calls a prefix."""
        with self._explained(prefix):
            return [entry["path"] for batch in self._store.list(prefix) for entry in batch]

    def _name(self, key: str) -> str:
        return f"{S3_SCHEME}{self._bucket}/{key}"

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Turn what the library raises into an error that says what to do."""
        from obstore.exceptions import BaseError  # noqa: PLC0415

        try:
            yield
        except FileNotFoundError as error:
            raise NoObjectError(str(error)) from error
        except (BaseError, OSError) as error:
            message = " ".join(str(error).partition("Debug source:")[0].split())[:300]
            raise CrawlError(
                f"cannot reach or write {self._name(key)} ({message}): check the keys and the "
                "service; nothing is lost, and `gossamer resume` or `gossamer export` tries again"
            ) from error


def _connect(bucket: str, environment: Mapping[str, str]) -> "S3Store":
    try:
        from obstore.store import S3Store  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "s3:// needs a library that is not installed: pip install 'gossamer[s3]'"
        ) from error
    endpoint = next((value for name in _ENDPOINTS if (value := environment.get(name))), None)
    if not endpoint and not environment.get("AWS_ACCESS_KEY_ID"):
        raise UsageError(
            "s3:// needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and "
            "AWS_ENDPOINT_URL for a service other than Amazon's"
        )
    return S3Store(
        bucket,
        endpoint=endpoint,
        client_options={"allow_http": bool(endpoint and endpoint.startswith("http://"))},
        retry_config={"max_retries": RETRIES, "retry_timeout": RETRY_WITHIN},
    )
