"""The lead of a crawl in Redis: one process writes at a time, and each of its commits once.

The lead is a key that runs out by itself, so that a process that was killed is waited out. Beside
it stands how many commits there were, with the token of who made the last. A commit goes through
if both are as this process left them, whole or not at all. So a process that stood still finds out
that another one leads, and one whose server has lost writes finds out as well. If the answer of a
commit gets lost, what stands there tells whether it was carried out: only this process could have
written it.
"""

import os
import secrets
import socket
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import msgspec
from redis import exceptions

from gossamer.errors import CrawlError
from gossamer.stores.away import CrawlChangedError
from gossamer.stores.redis.blocking_link import BlockingLink, Command, complaint, pack
from gossamer.stores.redis.journal import HOLD_S, WATCHED_S, ChangedRows, pack_entry
from gossamer.stores.redis.row_keys import RowKeys

LEAD_S = 5.0
"""How long nobody else may take the lead after the last word of the one that has it."""
CHECK_EVERY_S = 0.1
HOLD_CHECK_EVERY_S = 0.005


class LeadLostError(CrawlChangedError):
    """Another process leads the crawl, or has led it meanwhile."""


class ServerForgotError(CrawlChangedError):
    """The server has not got what this process wrote last."""


class LeadHolder(msgspec.Struct, frozen=True):
    """Who has the lead, as it is stored."""

    token: str
    host: str
    pid: int
    since: float
    """When it was taken, by the server's clock."""
    role: str = ""
    """`crawl` of a coordinator, or `frontier`."""

    def __str__(self) -> str:
        moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        command = f"gossamer {self.role}, " if self.role else ""
        return f"{command}process {self.pid} on {self.host}, since {moment}"


def read_holder(stored: bytes | None) -> LeadHolder | None:
    """Return who has the lead; None: nobody has."""
    return None if stored is None else msgspec.json.decode(stored, type=LeadHolder)


class Commit(Protocol):
    """What is written together."""

    @property
    def reads(self) -> Sequence[bytes]:
        """Packed commands for what has to be read first."""

    def commands(self, answers: Sequence[Any]) -> tuple[bytes, int]:
        """Return the packed commands that write it, and how many, given what was read."""

    @property
    def changed(self) -> ChangedRows | None:
        """The rows that it changes; None: none."""


class _Nothing:
    """A commit that only prolongs the lead, or takes it."""

    reads: Sequence[bytes] = ()
    changed = None

    def commands(self, _: Sequence[Any]) -> tuple[bytes, int]:
        """Return nothing."""
        return b"", 0


class _Look(NamedTuple):
    """What stands in the server before a transaction, which fails if that changes."""

    lead: bytes | None
    stamp: bytes | None
    is_watched: bool
    """Whether somebody wants to know what the transaction changes."""
    is_held: bool
    """Whether somebody wants it to wait."""

    @classmethod
    def read(cls, answers: Sequence[Any]) -> Self:
        """Return what the commands `_look` were answered."""
        _, lead, stamp, watched, hold = answers
        return cls(lead, stamp, bool(watched), bool(hold))


LOOKS = 5
"""How many answers it takes."""


class CrawlLead:
    """The right to write the rows of a crawl, and what is written with it."""

    def __init__(
        self,
        link: BlockingLink,
        keys: RowKeys,
        where: str,
        lead_s: float = LEAD_S,
        role: str = "",
    ) -> None:
        self._link = link
        self._keys = keys
        self._where = where
        """The crawl, for people."""
        self._lead_ms = round(lead_s * 1000)
        self._role = role
        self._token = secrets.token_hex(8)
        self._value: bytes | None = None
        """What stands in the key of the lead, once it was taken."""
        self._number = 0
        """How many commits there were, before and with ours."""
        self._before = b""
        """What stands in the key of commits."""
        looking: list[Command] = [
            ("WATCH", keys.lead, keys.commit, keys.watched, keys.hold),
            ("GET", keys.lead),
            ("GET", keys.commit),
            ("EXISTS", keys.watched),
            ("EXISTS", keys.hold),
        ]
        self._look = b"".join(map(pack, looking))

    @property
    def number(self) -> int:
        """The number of the last commit."""
        return self._number

    @property
    def token(self) -> str:
        """What tells this process from others."""
        return self._token

    def myself(self, since: float) -> LeadHolder:
        """Return this process as others are shown it."""
        return LeadHolder(self._token, socket.gethostname(), os.getpid(), since, self._role)

    def holder(self) -> LeadHolder | None:
        """Return who has the lead."""
        (stored,) = self._link.ask(("GET", self._keys.lead))
        return read_holder(stored)

    def take(self, patience_s: float) -> None:
        """Take the lead, waiting for whoever has it.

        The commit that comes with it refuses all that others began before.
        """
        give_up_at = time.monotonic() + patience_s
        while not self.try_to_take():
            if time.monotonic() >= give_up_at:
                raise self.taken_by(self.holder())
            time.sleep(CHECK_EVERY_S)

    def try_to_take(self) -> bool:
        """Take the lead if nobody has it, and refuse what others began before."""
        if not self._link.patiently(self._take_once):
            return False
        self._link.patiently(self._fence)
        return True

    def taken_by(self, holder: LeadHolder | None) -> CrawlError:
        """Return the error of a lead that another process has."""
        return CrawlError(
            f"another process works on {self._where} ({holder or 'it has just ended'}): "
            "wait until it has ended, or stop it"
        )

    def renew(self) -> None:
        """Keep the lead when there is nothing to commit; raises as `commit` does."""
        self.commit(_Nothing())

    def resign(self) -> None:
        """Let another process take the lead at once, if it is still ours."""
        if self._value is not None:
            self._link.patiently(self._resign_once)
            self._value = None

    def resign_at_once(self) -> None:
        """Do the same, if the server answers."""
        if self._value is not None:
            self._resign_once()
            self._value = None

    def commit(self, commit: Commit) -> None:
        """Write something, all of it and once, or raise and have written nothing."""
        after = self._before
        if not isinstance(commit, _Nothing):
            after = self._stamp(self._number + 1)
        self._link.patiently(lambda: self._commit_once(commit, after))
        if after != self._before:
            self._number += 1
            self._before = after

    def _stamp(self, number: int) -> bytes:
        return f"{number} {self._token}".encode()

    def _take_once(self) -> bool:
        now: list[bytes]
        (now,) = self._link.round_trip(pack(("TIME",)), 1)
        since = int(now[0]) + int(now[1]) / 1e6
        holder = self.myself(since)
        value = msgspec.json.encode(holder)
        command = ("SET", self._keys.lead, value, "NX", "PX", self._lead_ms)
        taken, stored = self._link.round_trip(pack(command) + pack(("GET", self._keys.lead)), 2)
        if taken is not None:
            self._value = value
            return True
        found = read_holder(stored)
        if found is not None and found.token == self._token:  # the answer was lost before
            self._value = stored
            return True
        return False

    def _fence(self) -> None:
        while True:
            look = _Look.read(self._link.round_trip(self._look, LOOKS))
            if look.lead not in {None, self._value}:
                raise self._lost()
            number = _number_in(look.stamp) + 1
            stamp = self._stamp(number)
            noted = self._entry(number, None) if look.is_watched else []
            if self._execute(b"", 0, stamp, noted, is_ours=look.lead is not None):
                self._number, self._before = number, stamp
                return

    def _resign_once(self) -> None:
        while True:
            look = _Look.read(self._link.round_trip(self._look, LOOKS))
            if look.lead != self._value:
                self._link.round_trip(pack(("UNWATCH",)), 1)
                return
            packed = b"".join(map(pack, [("MULTI",), ("DEL", self._keys.lead), ("EXEC",)]))
            if _outcome(self._link.answers(packed, 3, same=True)):
                return

    def _commit_once(self, commit: Commit, after: bytes) -> None:
        wait_until = time.monotonic() + HOLD_S
        while True:
            packed = self._look + b"".join(commit.reads)
            answers = self._link.round_trip(packed, LOOKS + len(commit.reads))
            look = _Look.read(answers[:LOOKS])
            if look.stamp == after and after != self._before:  # carried out, the answer was lost
                self._link.round_trip(pack(("UNWATCH",)), 1)
                return
            self._check(look.lead, look.stamp)
            is_new = after != self._before
            if look.is_held and is_new and time.monotonic() < wait_until:
                time.sleep(HOLD_CHECK_EVERY_S)
                continue
            written, count = commit.commands(answers[LOOKS:])
            noted: list[Command] = []
            if look.is_watched and is_new:
                noted = self._entry(_number_in(after), commit.changed)
            if self._execute(written, count, after, noted, is_ours=look.lead is not None):
                return

    def _entry(self, number: int, changed: ChangedRows | None) -> list[Command]:
        """Return the commands that note for others what a commit changes."""
        journal = self._keys.journal
        return [("RPUSH", journal, pack_entry(number, changed)), ("EXPIRE", journal, WATCHED_S)]

    def _check(self, lead: bytes | None, stamp: bytes | None) -> None:
        """Refuse to write if another process leads, or has, or if the server has lost writes."""
        if self._value is None or lead not in {None, self._value}:
            raise self._lost()
        if stamp != self._before:
            number = _number_in(stamp)
            if number > self._number:
                raise self._lost()
            raise ServerForgotError(
                f"the store has lost the last writes of {self._where}: it has commit {number}, and "
                f"commit {self._number} was made, as if its server was restarted or replaced from "
                "an older copy; run the same command again to continue from what it has"
            )

    def _execute(
        self, packed: bytes, count: int, stamp: bytes, noted: Sequence[Command], *, is_ours: bool
    ) -> bool:
        """Carry out commands with what says so; False if the lead has changed meanwhile.

        If it has run out, because this process stood still, and nobody took it, it is taken again.
        """
        keys, lead_ms = self._keys, self._lead_ms
        assert self._value is not None, "the lead was taken"
        prolong: Command = ("PEXPIRE", keys.lead, lead_ms)
        if not is_ours:
            prolong = ("SET", keys.lead, self._value, "PX", lead_ms)
        end = [*noted, ("SET", keys.commit, stamp), prolong, ("EXEC",)]
        sent = b"".join([pack(("MULTI",)), packed, *map(pack, end)])
        return _outcome(self._link.answers(sent, count + 1 + len(end), same=True))

    def _lost(self) -> LeadLostError:
        return LeadLostError(
            f"another process has taken over {self._where}, while this one stood still: it goes on "
            "there"
        )


def _number_in(stamp: bytes | None) -> int:
    return 0 if stamp is None else int(stamp.split(b" ")[0])


def _outcome(answers: Sequence[Any]) -> bool:
    """Return whether a transaction was carried out; a CrawlError if it was refused."""
    executed = answers[-1]
    if isinstance(executed, Exception):
        errors = [answer for answer in answers if isinstance(answer, Exception)]
        first = next((one for one in errors if not _is_abort(one)), executed)
        raise CrawlError(complaint(first)) from first
    if executed is None:
        return False
    for answer in executed:
        if isinstance(answer, Exception):
            raise CrawlError(
                f"the store has something else in a key of the crawl ({answer}): another program "
                "has written there"
            ) from answer
    return True


def _is_abort(error: Exception) -> bool:
    return isinstance(error, exceptions.ExecAbortError)
