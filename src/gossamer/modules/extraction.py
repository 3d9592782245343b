"""What a module's function returns or yields: records as JSON objects, and the links to follow.

A record is a mapping, a dataclass, a msgspec struct or a pydantic model; pydantic itself is not
needed, nor known. What has no JSON form costs the records of its page, with a message that names
the field.
"""

import dataclasses
import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import msgspec

from gossamer.model import Page, Url
from gossamer.modules.calls import AnswerError, is_async, refuse_awaitable
from gossamer.modules.contract import FollowedLink
from gossamer.modules.loading import type_phrase
from gossamer.urls import resolve

MAX_RECORDS = 10_000
"""How many records a module may extract from a page."""
MAX_BYTES = 8_000_000
"""How large the records of a module from a page may be together: several modules fit a message."""
MAX_LINKS = 100_000
"""How many links a module may have followed from a page: more than any page has."""
WANTED = "a record is a mapping, a dataclass, a msgspec struct or a pydantic model"

Chosen = tuple[FollowedLink, ...]


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
            value = call(*arguments)
            return await _collect_async(await value if inspect.isawaitable(value) else value)

        return extract_async

    def extract(*arguments: object) -> Extraction:
        return _collect(call(*arguments))

    return extract


def _collect(value: object) -> Extraction:
    if value is None:
        return NOTHING
    if inspect.isawaitable(value) or isinstance(value, AsyncIterable):
        refuse_awaitable(value)
    records = _EncodedRecords()
    try:
        for record in _each(value):
            records.add(record)
    except RecordError as error:
        return Extraction(refused=error)
    return Extraction(records.encoded)


async def _collect_async(value: object) -> Extraction:
    if not isinstance(value, AsyncIterable):
        return _collect(value)
    records = _EncodedRecords()
    try:
        async for record in value:
            records.add(record)
    except RecordError as error:
        if isinstance(value, AsyncGenerator):
            await value.aclose()
        return Extraction(refused=error)
    return Extraction(records.encoded)


def _each(value: object) -> Iterable[object]:
    if _is_record(value):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | bytearray | memoryview):
        return value
    raise RecordError(f"it returned {type_phrase(value)}: {WANTED}, or an iterable of these")


def _is_record(value: object) -> bool:
    """Tell whether it is a mapping, a struct, a dataclass, an attrs class or a pydantic model."""
    cls = type(value)
    return (
        isinstance(value, Mapping | msgspec.Struct)
        or dataclasses.is_dataclass(cls)
        or hasattr(cls, "model_dump")
        or hasattr(cls, "__attrs_attrs__")
    )


def _plain(thing: Any) -> object:  # noqa: ANN401 -- whatever a module puts into a record
    """Return what msgspec cannot encode as something that it can."""
    if hasattr(type(thing), "model_dump"):
        return thing.model_dump(mode="json")
    if isinstance(thing, Mapping):
        return dict(thing)
    if isinstance(thing, PurePath):
        return str(thing)
    raise TypeError(f"{type_phrase(thing)} has no form in JSON")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


class _EncodedRecords:
    """The records of one call, within their bounds."""

    def __init__(self) -> None:
        self.encoded: list[bytes] = []
        self._bytes = 0

    def add(self, record: object) -> None:
        if not _is_record(record):
            raise RecordError(f"it gave {type_phrase(record)} as a record: {WANTED}")
        if len(self.encoded) == MAX_RECORDS:
            raise RecordError(f"it gave more than {MAX_RECORDS:,} records for one page")
        try:
            encoded = _encode(record)
        except (
            TypeError,
            ValueError,
            OverflowError,
            RecursionError,
            msgspec.MsgspecError,
        ) as error:
            raise RecordError(f"{_culprit(record)} cannot be stored: {error}") from error
        if not encoded.startswith(b"{"):
            raise RecordError(f"{type_phrase(record)} is no JSON object: {WANTED}")
        self._bytes += len(encoded)
        if self._bytes > MAX_BYTES:
            size = f"{MAX_BYTES // 1_000_000} MB"
            raise RecordError(f"its records for one page take more than {size}")
        self.encoded.append(encoded)


def _culprit(record: object) -> str:
    """Name the field of a record that has no JSON form."""
    fields = record if isinstance(record, Mapping) else getattr(record, "__dict__", {})
    for name, value in dict(fields).items():
        try:
            _encode({name: value})
        except Exception:  # noqa: BLE001 -- it was told what it is; here only where
            return f"the field {name!r} of a record"
    return f"{type_phrase(record)} that it gave as a record"


def choosing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call as one that returns links, in normal form; it is async if the call is."""
    if is_async(call):

        async def choose_async(page: Page, links: Sequence[FollowedLink]) -> Chosen:
            value = call(page, links)
            value = await value if inspect.isawaitable(value) else value
            if isinstance(value, AsyncIterable):
                value = [link async for link in value]
            return _chosen(value, page, links)

        return choose_async

    def choose(page: Page, links: Sequence[FollowedLink]) -> Chosen:
        value = call(page, links)
        if inspect.isawaitable(value) or isinstance(value, AsyncIterable):
            refuse_awaitable(value)
        return _chosen(value, page, links)

    return choose


def _chosen(value: object, page: Page, links: Sequence[FollowedLink]) -> Chosen:
    if value is None:
        return tuple(links)
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise AnswerError(f"links returned {type_phrase(value)} instead of the links to follow")
    chosen: list[FollowedLink] = []
    for link in value:
        if len(chosen) == MAX_LINKS:
            raise AnswerError(f"links returned more than {MAX_LINKS:,} links for one page")
        chosen.append(_link(link, page))
    return tuple(chosen)


def _link(link: object, page: Page) -> FollowedLink:
    """Return a link that a module has given back, or has added."""
    if isinstance(link, str):
        link = FollowedLink(Url(link))
    if not isinstance(link, FollowedLink):
        kind = type_phrase(link)
        raise AnswerError(f"links returned {kind} as a link: give a URL or a FollowedLink")
    url = resolve(link.url, page.url)
    if url is None:
        raise AnswerError(f"links returned {link.url!r}, which is not a usable URL")
    if link.score is not None and not 0 <= link.score <= 100:  # nor is NaN
        raise AnswerError(f"links gave {link.url} the score {link.score}: scores go from 0 to 100")
    return FollowedLink(url, link.score)
