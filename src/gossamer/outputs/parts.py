"""The parts of a shared crawl: a worker may write the results that it settles itself.

Each result belongs to one part (`Result.part`): 0 is that of whoever coordinates the crawl, and
each worker with outputs of its own has another. So together they hold each result once. A note in
the store tells of each part where it is and how far.
"""

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Final

import msgspec

from gossamer.stores.notes import read_note

PART_NOTE: Final = "part:"
"""Followed by the number of a part."""


class PartNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a worker's part."""

    token: str
    """Drawn by its worker: after the crawl has started over the number may be another worker's."""
    machine: str
    targets: tuple[str, ...]
    """Where its outputs are, on that machine or in an object store."""
    written: int = 0
    """Up to which result all of them are written for good."""
    finished: bool = False
    """Whether they are complete under their names."""
    signs: int = 0
    """How often the worker has told how far it is: who sees this grow knows that it is there."""


class PartReport(msgspec.Struct, frozen=True, kw_only=True):
    """One output of a worker's part, for people."""

    part: int
    machine: str
    """Where the worker is, or was."""
    target: str
    written: int
    """Up to which result it is written for good."""
    finished: bool


def read_part(number: int, note: bytes | None) -> PartNote | None:
    """Return what a note tells of a part; None if there is none."""
    return read_note(note, PartNote, f"the note of part {number} in the store is")


async def read_parts(note: Callable[[str], Awaitable[bytes | None]]) -> list[PartNote]:
    """Return what workers write of their own, part 1 first; `note` reads a note of the store."""
    parts: list[PartNote] = []
    for number in count(1):
        found = read_part(number, await note(f"{PART_NOTE}{number}"))
        if found is None:
            break
        parts.append(found)
    return parts


def reports_of(parts: Sequence[PartNote]) -> list[PartReport]:
    """Return all outputs of the parts."""
    return [
        PartReport(
            part=number,
            machine=part.machine,
            target=target,
            written=part.written,
            finished=part.finished,
        )
        for number, part in enumerate(parts, start=1)
        for target in part.targets
    ]
