"""What a module's function returns or yields, as records: JSON objects.

A record is a mapping, a dataclass, a msgspec struct or a pydantic model; pydantic itself is not
needed, nor known. What has no JSON form costs the records of its page, with a message that names
the field.
"""

import dataclasses
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from gossamer.modules.loading import a_kind
from gossamer.plugins.calls import is_async, refuse_awaitable

MAX_RECORDS = 10_000
"""How many records a module may extract from a page."""
MAX_BYTES = 8_000_000
"""How large the records of a module from a page may be together: several modules fit a message."""
WANTED = "a record is a mapping, a dataclass, a msgspec struct or a pydantic model"


class RecordError(Exception):
    """What a module gave is no record, or too much; the page's records are dropped."""


class Extraction(msgspec.Struct, frozen=True):
    """What a call has extracted."""

    records: list[bytes] = []
    refused: RecordError | None = None
    """Why there are none."""


NOTHING = Extraction()


def extracting(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call as one that returns an `Extraction`; it is async if the call is."""
    if is_async(call):

        async def extract_async(*arguments: object) -> Extraction:
            given = call(*arguments)
            return await _collect_async(await given if inspect.isawaitable(given) else given)

        return extract_async

    def extract(*arguments: object) -> Extraction:
        given = call(*arguments)
        return NOTHING if given is None else _collect(given)

    return extract


def _collect(given: object) -> Extraction:
    if inspect.isawaitable(given) or isinstance(given, AsyncIterable):
        refuse_awaitable(given)
    records = _Collected()
    try:
        if _is_record(given):
            records.add(given)
        else:
            for one in _several(given):
                records.add(one)
    except RecordError as error:
        return Extraction(refused=error)
    return Extraction(records.encoded)


async def _collect_async(given: object) -> Extraction:
    if not isinstance(given, AsyncIterable):
        return NOTHING if given is None else _collect(given)
    records = _Collected()
    try:
        async for one in given:
            records.add(one)
    except RecordError as error:
        if isinstance(given, AsyncGenerator):
            await given.aclose()
        return Extraction(refused=error)
    return Extraction(records.encoded)


def _several(given: object) -> Iterable[object]:
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | bytearray | memoryview):
        return given
    raise RecordError(f"it returned {a_kind(given)}: {WANTED}, or an iterable of these")


def _is_record(thing: object) -> bool:
    return isinstance(thing, Mapping | msgspec.Struct) or _is_model(thing)


def _is_model(thing: object) -> bool:
    """Tell whether it is a dataclass, an attrs class or a pydantic model."""
    kind = type(thing)
    return dataclasses.is_dataclass(kind) or any(
        hasattr(kind, name) for name in ("model_dump", "__attrs_attrs__")
    )


def _plain(thing: Any) -> object:  # noqa: ANN401 -- whatever a module puts into a record
    """Return what msgspec cannot encode as something that it can."""
    if hasattr(type(thing), "model_dump"):
        return thing.model_dump(mode="json")
    if isinstance(thing, Mapping):
        return dict(thing)
    if isinstance(thing, PurePath):
        return str(thing)
    raise TypeError(f"{a_kind(thing)} has no form in JSON")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


class _Collected:
    """The records of one call, encoded, within their bounds."""

    def __init__(self) -> None:
        self.encoded: list[bytes] = []
        self._bytes = 0

    def add(self, thing: object) -> None:
        if not _is_record(thing):
            raise RecordError(f"it gave {a_kind(thing)} as a record: {WANTED}")
        if len(self.encoded) == MAX_RECORDS:
            raise RecordError(f"it gave more than {MAX_RECORDS:,} records for one page")
        encoded = _encoded(thing)
        self._bytes += len(encoded)
        if self._bytes > MAX_BYTES:
            words = f"its records for one page take more than {MAX_BYTES // 1_000_000} MB"
            raise RecordError(words)
        self.encoded.append(encoded)


def _encoded(thing: object) -> bytes:
    try:
        encoded = _encode(thing)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise RecordError(f"{_culprit(thing)} cannot be stored: {error}") from error
    if not encoded.startswith(b"{"):
        raise RecordError(f"{a_kind(thing)} is no JSON object: {WANTED}")
    return encoded


def _culprit(thing: object) -> str:
    """Name the field of a record that has no JSON form."""
    fields = thing if isinstance(thing, Mapping) else getattr(thing, "__dict__", {})
    for name, value in dict(fields).items():
        try:
            _encode({name: value})
        except Exception:  # noqa: BLE001 -- it was told what it is; here only where
            return f"the field {name!r} of a record"
    return f"{a_kind(thing)} that it gave as a record"
