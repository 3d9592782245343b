"""Reads the rows of a crawl in Redis, damaged ones too, and what indexes say of them.

All that is stored of a row is read in one transaction: its fields in several hashes, its bits and
its age. So they must agree, also while others write. What is wrong with a row is noted under its
name, and no longer if it is in order when it is read again.
"""

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

import msgspec

from gossamer.stores.bodies import body_name
from gossamer.stores.redis.connection import BlockingLink, Command
from gossamer.stores.redis.row_changes import (
    RowNumbers,
    decode_page,
    decode_url,
    read_attempt,
    read_sketch,
)
from gossamer.stores.redis.row_keys import HASH_BYTES, PART, RowKeys, member
from gossamer.stores.redis.row_reads import read_fields, read_host
from gossamer.stores.rows import Changes, DomainRow, LeaseRow, RelaxingUrl, ResultRow, SketchRow
from gossamer.stores.url_record import UrlState

Row = TypeVar("Row")
Decode = Callable[[bytes], Row]

COUNTED: Final = {
    "urls": ("urls", "known"),
    "url_blocks": ("url_blocks",),
    "page_blocks": ("page_blocks",),
    "urls WHERE length(targets) > 0": ("links", "linked"),
    "urls WHERE state = 0": ("unscored",),
    "attempts": ("attempts",),
    "relaxing": ("relaxing",),
    "leases": ("leases",),
    "hosts": ("hosts", "host_ids", "host_urls"),
    "domains": ("domains",),
    "pages": ("pages",),
    "contents": ("contents", "kept"),
    "sketches": ("bands", "samples"),
    "results": ("results",),
}
"""For rows in the tables of a copy, the hashes and indexes that must have as many entries."""
_COUNTING: Final = {
    "kept": "ZCARD",
    "row_ages": "ZCARD",
    "linked": "BITCOUNT",
    "unscored": "BITCOUNT",
}
"""How entries are counted that are no fields of a hash."""
_UNREADABLE: Final = (msgspec.MsgspecError, struct.error, ValueError, TypeError, ArithmeticError)
"""The errors that decoders raise."""
_decode_lease: Final = msgspec.msgpack.Decoder(LeaseRow).decode
_decode_relaxing: Final = msgspec.msgpack.Decoder(RelaxingUrl).decode
_decode_domain: Final = msgspec.msgpack.Decoder(DomainRow).decode
_decode_result: Final = msgspec.msgpack.Decoder(ResultRow).decode


class Moment(msgspec.Struct, frozen=True):
    """What is stored of a crawl as a whole, after one commit."""

    stamp: bytes | None
    """The number of the commit, and who made it; None: there was none."""
    is_led: bool
    """Whether a process has the lead of the crawl."""
    numbers: RowNumbers
    metadata: Mapping[str, bytes]
    lengths: Mapping[str, int]
    """How many entries tables and indexes have."""


class RowSource:
    """The rows of one crawl in Redis, which is read without its lead, in portions of any size."""

    def __init__(self, link: BlockingLink, keys: RowKeys) -> None:
        """Take an open connection."""
        self.link = link
        self.keys = keys
        self.damage: dict[str, str] = {}
        """What is wrong with rows, by what they are called."""

    def urls(self, ids: Sequence[int]) -> Changes:
        """Return URLs with links, leases and places among those that have come nearer."""
        keys, changes = self.keys, Changes()
        tables = (keys.urls, keys.links, keys.leases, keys.relaxing)
        bits = (_bits(key, ids) for key in (keys.linked, keys.unscored))
        rows = self._rows(ids, tables, *bits, each=[_hash(keys.url_keys, url) for url in ids])
        for url_id, packed, links, lease, path, linked, unscored, key in rows:
            name = f"URL {url_id}"
            changes.leases[url_id] = self._own(
                f"the lease of {name}", lease, _decode_lease, "url", url_id
            )
            changes.relaxing[url_id] = self._own(
                f"the way over {name}", path, _decode_relaxing, "url_id", url_id
            )
            row = self._own(name, packed, decode_url, "id", url_id)
            due = bool(links), row is not None and row.state == UrlState.UNSCORED
            is_wrong = (bool(linked), bool(unscored)) != due
            self.note(f"the bits of {name}", "do not say what its row says" if is_wrong else "")
            is_wrong = row is not None and row.key != key
            self.note(f"the key of {name}", "is not that of its row" if is_wrong else "")
            if row is not None:
                changes.urls[url_id] = row
                changes.links[url_id] = links or b""
        return changes

    def url_blocks(self, numbers: Sequence[int]) -> Changes:
        """Return blocks of URLs."""
        changes = Changes()
        changes.url_blocks = self._there(numbers, self.keys.url_blocks)
        return changes

    def page_blocks(self, numbers: Sequence[int]) -> Changes:
        """Return blocks of pages."""
        changes = Changes()
        changes.page_blocks = self._there(numbers, self.keys.page_blocks)
        return changes

    def _there(self, numbers: Sequence[int], table: bytes) -> dict[int, bytes]:
        rows = self._rows(numbers, (table,))
        return {number: packed for number, packed in rows if packed is not None}

    def hosts(self, ids: Sequence[int]) -> Changes:
        """Return hosts with the numbers of their URLs."""
        keys, changes = self.keys, Changes()
        for host, packed, count in self._rows(ids, (keys.hosts, keys.host_urls)):
            decode = partial(read_host, count=count or b"-1")  # without one it is wrong in any case
            if row := self._own(f"host {host}", packed, decode, "id", host):
                changes.hosts[host] = row
        return changes

    def domains(self, names: Sequence[str]) -> Changes:
        """Return domains."""
        changes = Changes()
        for name, packed in self._rows(names, (self.keys.domains,)):
            if row := self._own(f"domain {name}", packed, _decode_domain, "name", name):
                changes.domains[name] = row
        return changes

    def domain_names(self) -> list[str]:
        """Return the names of all domains, or of more."""
        return [name for name, _ in self._named(read_fields(self.link, self.keys.domains))]

    def pages(self, numbers: Sequence[int]) -> Changes:
        """Return pages with contents and sketches, which replace those that there were."""
        keys, changes, bodies = self.keys, Changes(), dict[int, bytes]()
        changes.dropped.update(numbers)
        tables = (keys.pages, keys.contents, keys.body_names, keys.bands, keys.samples)
        ages: Command = ("ZMSCORE", keys.kept, *map(member, numbers))
        digests = [_hash(keys.page_digests, number) for number in numbers]
        rows = self._rows(numbers, tables, ages, each=digests)
        for number, packed, content, named, bands, sample, age, digest in rows:
            name = f"page {number}"
            page = self._own(name, packed, decode_page, "number", number)
            is_wrong = page is not None and page.digest != digest
            self.note(f"the digest of {name}", "is not that of its row" if is_wrong else "")
            if page is not None:
                changes.pages[number] = page
            if content is not None:
                changes.contents[number] = float(age or 0.0), content
            body = None if content is None else body_name(content)
            if body is not None:
                bodies[number] = keys.body(body)
            is_wrong = named != (None if body is None else body.encode())
            self.note(f"the body of {name}", "is not noted by its name" if is_wrong else "")
            is_wrong = (content is None) != (age is None)
            self.note(f"the age of {name}", "or its content is missing" if is_wrong else "")
            decode = partial(_sketch, number, sample)
            if sketch := self.read(f"the sketch of {name}", bands, decode):
                changes.sketches[number] = sketch
        if bodies:
            (found,) = self.together(("MGET", *bodies.values()))
            for number, body in zip(bodies, found, strict=True):
                if body is not None:  # else whoever follows the reference tells
                    changes.contents[number] = changes.contents[number][0], body
        return changes

    def attempts(self, names: Sequence[tuple[int, int]]) -> Changes:
        """Return attempts, which never change once they are there: of URLs, from 0 on."""
        changes = Changes()
        fields = [f"{url_id}:{place}" for url_id, place in names]
        rows = self._rows(fields, (self.keys.attempts,))
        for (url_id, place), (_, packed) in zip(names, rows, strict=True):
            if attempt := self.read(f"attempt {place} at URL {url_id}", packed, read_attempt):
                changes.attempts.setdefault(url_id, []).append(attempt)
        return changes

    def results(self, numbers: Sequence[int]) -> Changes:
        """Return results with their rows; they never change once they are there, but rows go."""
        keys, changes = self.keys, Changes()
        ages: Command = ("ZMSCORE", keys.row_ages, *map(member, numbers))
        for number, packed, row, age in self._rows(numbers, (keys.results, keys.result_rows), ages):
            result = self._own(f"result {number}", packed, _decode_result, "number", number)
            due = None if row is None or result is None else result.settled_at
            is_wrong = due != (None if age is None else float(age))
            self.note(f"the age of result {number}", "is not that of its row" if is_wrong else "")
            if result is not None:
                result.row = row
                changes.results.append(result)
        return changes

    def moment(self) -> Moment:
        """Return what is stored of the crawl as a whole."""
        keys = self.keys
        counted = [*chain(*COUNTED.values()), "numbers", "result_rows", "row_ages"]
        stamp, lead, numbers, metadata, *lengths = self.together(
            ("GET", keys.commit),
            ("GET", keys.lead),
            ("HGETALL", keys.numbers),
            ("HGETALL", keys.metadata),
            *((_COUNTING.get(name, "HLEN"), getattr(keys, name)) for name in counted),
        )
        known = {
            name: self.read(f"the number '{name}'", packed, int) or 0
            for name, packed in self._named(_pairs(numbers))
            if name in RowNumbers.__struct_fields__
        }
        return Moment(
            stamp=stamp,
            is_led=lead is not None,
            numbers=RowNumbers(**known),
            metadata=dict(self._named(_pairs(metadata))),
            lengths=dict(zip(counted, lengths, strict=True)),
        )

    # -- what is wrong ---------------------------------------------------------------------------

    def note(self, name: str, trouble: str) -> None:
        """Note what is wrong with a row; nothing if that is empty."""
        self.damage.pop(name, None)
        if trouble:
            self.damage[name] = f"{name} {trouble}"

    def read(self, name: str, packed: bytes | None, decode: Decode[Row]) -> Row | None:
        """Return a row; None if it is not there, or cannot be read."""
        row, trouble = None, ""
        if packed is not None:
            try:
                row = decode(packed)
            except _UNREADABLE as error:
                trouble = f"cannot be read: {error}"
        self.note(name, trouble)
        return row

    def _own(
        self, name: str, packed: bytes | None, decode: Decode[Row], field: str, key: object
    ) -> Row | None:
        """Return a row that has its own key in a field; None if it has not."""
        row = self.read(name, packed, decode)
        if row is None or getattr(row, field) == key:
            return row
        self.note(name, f"is that of {field} {getattr(row, field)}")
        return None

    def _named(self, fields: Mapping[bytes, bytes]) -> list[tuple[str, bytes]]:
        """Return the fields of a hash, but for those whose names are no text."""
        named = ((self.read(f"the name {key!r}", key, bytes.decode), key) for key in fields)
        return [(name, fields[key]) for name, key in named if name is not None]

    # -- the connection --------------------------------------------------------------------------

    def _rows(
        self,
        names: Sequence[Any],
        tables: Sequence[bytes],
        *more: Command,
        each: Sequence[Command] = (),
    ) -> Iterator[tuple[Any, ...]]:
        """Yield each name with its fields in these hashes and its answers to more commands.

        `each` are commands of which each name has one.
        """
        asked = [*(("HMGET", table, *names) for table in tables), *more]
        stored = self.together(*asked, *each)
        answers = [stored[len(asked) :]] if each else []
        return zip(names, *stored[: len(asked)], *answers, strict=True)

    def together(self, *commands: Command) -> list[Any]:
        """Return the answers of commands that are carried out in one transaction."""
        answers = self.link.patiently(lambda: self.link.execute(*commands))
        assert answers is not None, "nothing was watched"
        return answers


def commit_number(stamp: bytes | None) -> int:
    """Return the number of a commit; 0 if there is none, or nobody can read it."""
    number, *_ = (stamp or b"").split(b" ")
    return int(number) if number.isdigit() else 0


def cut(numbers: Sequence[Row], size: int) -> Iterator[Sequence[Row]]:
    """Yield numbers, or whatever they are, in portions of that size."""
    return (numbers[first : first + size] for first in range(0, len(numbers), size))


def _bits(key: bytes, ids: Sequence[int]) -> Command:
    return ["BITFIELD_RO", key, *(word for bit in ids for word in ("GET", "u1", f"#{bit}"))]


def _hash(key_of: Callable[[int], bytes], number: int) -> Command:
    """Return what reads a hash from a string that has many."""
    part, place = divmod(number, PART)
    return "GETRANGE", key_of(part), place * HASH_BYTES, place * HASH_BYTES + HASH_BYTES - 1


def _pairs(stored: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(stored[::2], stored[1::2], strict=True))


def _sketch(number: int, sample: bytes | None, bands: bytes) -> SketchRow | None:
    if sample is None:
        raise ValueError("it is there in part only")
    return read_sketch(number, bands, sample)
