"""What a module's function returns or yields, as records: JSON objects.

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

from gossamer.model import Page
from gossamer.modules.calls import AnswerError, is_async, refuse_awaitable
from gossamer.modules.contract import FollowedLink
from gossamer.modules.loading import a_kind
from gossamer.urls import resolve

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


MAX_LINKS = 100_000
"""How many links a module may have followed from a page: more than any page has."""

Chosen = tuple[FollowedLink, ...]


def choosing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call as one that returns links, in normal form; it is async if the call is."""
    if is_async(call):

        async def choose_async(page: Page, links: Sequence[FollowedLink]) -> Chosen:
            given = call(page, links)
            given = await given if inspect.isawaitable(given) else given
            if isinstance(given, AsyncIterable):
                given = [one async for one in given]
            return _chosen(given, page, links)

        return choose_async

    def choose(page: Page, links: Sequence[FollowedLink]) -> Chosen:
        given = call(page, links)
        if inspect.isawaitable(given) or isinstance(given, AsyncIterable):
            refuse_awaitable(given)
        return _chosen(given, page, links)

    return choose


def _chosen(given: object, page: Page, links: Sequence[FollowedLink]) -> Chosen:
    if given is None:
        return tuple(links)
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise AnswerError(f"links returned {a_kind(given)} instead of the links to follow")
    chosen: list[FollowedLink] = []
    for one in given:
        if len(chosen) == MAX_LINKS:
            raise AnswerError(f"links returned more than {MAX_LINKS:,} links for one page")
        chosen.append(_link(one, page))
    return tuple(chosen)


def _link(given: object, page: Page) -> FollowedLink:
    """Return a link that a module has given back, or has added."""
    if not isinstance(given, str | FollowedLink):
        raise AnswerError(f"links returned {a_kind(given)} as a link: give a URL or a FollowedLink")
    text, score = (given, None) if isinstance(given, str) else (given.url, given.score)
    url = resolve(text, page.url)
    if url is None:
        raise AnswerError(f"links returned {text!r}, which is not a usable URL")
    if score is not None and not 0 <= score <= 100:  # nor is NaN
        raise AnswerError(f"links gave {text} the score {score}: scores go from 0 to 100")
    return FollowedLink(url, score)
