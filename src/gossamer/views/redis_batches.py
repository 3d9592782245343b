"""Reading rows of a crawl in Redis in batches, also such as nobody can read."""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import msgspec

from gossamer.stores.redis.blocking_link import Command
from gossamer.stores.redis.row_changes import (
    decode_attempt,
    decode_page,
    decode_url,
    read_sketch,
)
from gossamer.stores.redis.row_keys import RowKeys, member
from gossamer.stores.redis.row_loading import read_host
from gossamer.stores.rows import (
    Changes,
    DomainRow,
    LeaseRow,
    RelaxingUrl,
    ResultRow,
)
from gossamer.stores.url_record import Attempt

Row = TypeVar("Row")

decode_lease: Final = msgspec.msgpack.Decoder(LeaseRow).decode
decode_relaxing: Final = msgspec.msgpack.Decoder(RelaxingUrl).decode
decode_domain: Final = msgspec.msgpack.Decoder(DomainRow).decode
decode_result: Final = msgspec.msgpack.Decoder(ResultRow).decode
_UNREADABLE: Final = (msgspec.MsgspecError, struct.error, ValueError, TypeError, ArithmeticError)
"""What decoders raise."""


class Damage:
    """The rows that nobody can read, in sentences."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        """By what they are called, so that each is told once."""

    def read(self, what: str, packed: bytes, decode: Callable[[bytes], Row]) -> Row | None:
        """Return a row; None if it cannot be read."""
        try:
            row = decode(packed)
        except _UNREADABLE as error:
            self.found[what] = f"{what} cannot be read: {error}"
            return None
        self.found.pop(what, None)
        return row

    def read_own(
        self, what: str, packed: bytes, decode: Callable[[bytes], Row], name: object, field: str
    ) -> Row | None:
        """Return a row that has its own name in a field; None if it has not."""
        row = self.read(what, packed, decode)
        if row is not None and getattr(row, field) != name:
            self.found[what] = f"{what} is that of {field} {getattr(row, field)}"
            return None
        return row


class Batch(Protocol):
    """Rows that are read together."""

    def commands(self) -> list[Command]:
        """Return what is to be asked."""

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""


class UrlBatch:
    """URLs with their links, leases and places among those that have come nearer."""

    def __init__(self, keys: RowKeys, ids: Sequence[int]) -> None:
        self._keys = keys
        self._ids = ids

    def commands(self) -> list[Command]:
        """Return what is to be asked."""
        keys = self._keys
        tables = (keys.urls, keys.links, keys.leases, keys.relaxing)
        return [("HMGET", table, *self._ids) for table in tables]

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""
        for url_id, url, links, lease, relaxing in zip(self._ids, *answers, strict=True):
            changes.leases[url_id] = changes.relaxing[url_id] = None
            if lease is not None:
                changes.leases[url_id] = damage.read_own(
                    f"the lease of URL {url_id}", lease, decode_lease, url_id, "url"
                )
            if relaxing is not None:
                changes.relaxing[url_id] = damage.read_own(
                    f"row {url_id} of relaxing", relaxing, decode_relaxing, url_id, "url_id"
                )
            if url is None:
                continue  # noticed when all are counted
            row = damage.read_own(f"URL {url_id}", url, decode_url, url_id, "id")
            if row is not None:
                changes.urls[url_id] = row
                changes.links[url_id] = links or b""


class HostBatch:
    """Hosts with the numbers of their URLs."""

    def __init__(self, keys: RowKeys, ids: Sequence[int]) -> None:
        self._keys = keys
        self._ids = ids

    def commands(self) -> list[Command]:
        """Return what is to be asked."""
        keys = self._keys
        return [("HMGET", keys.hosts, *self._ids), ("HMGET", keys.host_urls, *self._ids)]

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""
        for host, packed, count in zip(self._ids, *answers, strict=True):
            if packed is None:
                continue
            # Without a count it is wrong in any case.
            decode = partial(read_host, count=count or b"-1")
            row = damage.read_own(f"host {host}", packed, decode, host, "id")
            if row is not None:
                changes.hosts[host] = row


class DomainBatch:
    """Domains."""

    def __init__(self, keys: RowKeys, names: Sequence[str]) -> None:
        self._keys = keys
        self._names = names

    def commands(self) -> list[Command]:
        """Return what is to be asked."""
        return [("HMGET", self._keys.domains, *self._names)]

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""
        for name, packed in zip(self._names, *answers, strict=True):
            if packed is not None:
                what = f"domain {name}"
                row = damage.read_own(what, packed, decode_domain, name, "name")
                if row is not None:
                    changes.domains[name] = row


class PageBatch:
    """Pages with their contents and sketches."""

    def __init__(self, keys: RowKeys, numbers: Sequence[int]) -> None:
        self._keys = keys
        self._numbers = numbers

    def commands(self) -> list[Command]:
        """Return what is to be asked."""
        keys = self._keys
        tables = (keys.pages, keys.contents, keys.bands, keys.samples)
        commands: list[Command] = [("HMGET", table, *self._numbers) for table in tables]
        return [*commands, ("ZMSCORE", keys.kept, *map(member, self._numbers))]

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""
        changes.dropped.update(self._numbers)
        for number, page, content, bands, sample, age in zip(self._numbers, *answers, strict=True):
            if page is not None:
                row = damage.read_own(f"page {number}", page, decode_page, number, "number")
                if row is not None:
                    changes.pages[number] = row
            if content is not None:
                # One without an age is noticed when the order of ages is checked.
                changes.contents[number] = 0.0 if age is None else float(age), content
            what = f"the sketch of page {number}"
            if (bands is None) != (sample is None):
                damage.found[what] = f"{what} is there in part only"
            elif bands is not None:
                sketch = damage.read(what, sample, partial(read_sketch, number, bands))
                if sketch is not None:
                    changes.sketches[number] = sketch


class AttemptBatch:
    """The attempts at URLs, which never change once they are there."""

    def __init__(self, keys: RowKeys, rows: Sequence[tuple[int, int]]) -> None:
        """Take URLs, each with how many attempts it has."""
        self._keys = keys
        self._names = [(url_id, place) for url_id, count in rows for place in range(count)]

    def commands(self) -> list[Command]:
        """Return what is to be asked."""
        fields: Command = [f"{url_id}:{place}" for url_id, place in self._names]
        return [("HMGET", self._keys.attempts, *fields)] if fields else []

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""
        for (url_id, place), packed in zip(self._names, answers[0] if answers else [], strict=True):
            if packed is None:
                continue
            what = f"attempt {place} at URL {url_id}"
            stored = damage.read(what, packed, decode_attempt)
            if stored is not None:
                attempt = Attempt(**msgspec.structs.asdict(stored))
                changes.attempts.setdefault(url_id, []).append(attempt)


class ResultBatch:
    """Results with their rows, which never change once they are there, but rows go."""

    def __init__(self, keys: RowKeys, numbers: Sequence[int]) -> None:
        self._keys = keys
        self._numbers = numbers

    def commands(self) -> list[Command]:
        """Return what is to be asked."""
        keys = self._keys
        tables = (keys.results, keys.result_rows)
        return [("HMGET", table, *self._numbers) for table in tables]

    def take(self, answers: Sequence[Any], changes: Changes, damage: Damage) -> None:
        """Put what was answered among changes."""
        for number, packed, row in zip(self._numbers, *answers, strict=True):
            if packed is None:
                continue
            what = f"result {number}"
            result = damage.read_own(what, packed, decode_result, number, "number")
            if result is not None:
                result.row = row
                changes.results.append(result)


def cut(numbers: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Return numbers or names in runs of that size."""
    return (numbers[first : first + size] for first in range(0, len(numbers), size))
