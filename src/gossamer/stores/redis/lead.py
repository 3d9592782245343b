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
from typing import Any, Final, NamedTuple

import msgspec

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.connection import BlockingLink, Command, describe_error, pack
from gossamer.stores.redis.row_changes import PackedChanges
from gossamer.stores.redis.row_keys import HOLD_S, UNSETTLED_S, WATCHED_S, RowKeys, pack_entry
from gossamer.stores.rows import Changes, CrawlChangedError

LEAD_S: Final = 4.5
"""How long nobody else may take the lead after the last word of the one that has it."""
HOLD_CHECK_EVERY_S: Final = 0.005


class LeadLostError(CrawlChangedError):
    """Another process leads the crawl, or has led it meanwhile."""


class ServerForgotError(CrawlChangedError):
    """The server has not got what this process wrote last."""


class BodiesLostError(CrawlChangedError):
    """Bodies of pages that were to be kept are not there any more."""


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


class _Stored(NamedTuple):
    """What is stored before a transaction, which fails if that changes."""

    lead: bytes | None
    stamp: bytes | None
    """The number of the last commit, and the token of who made it."""
    is_watched: int
    """Whether somebody wants to know what the transaction changes."""
    is_held: int
    """Whether somebody wants it to wait."""

    @property
    def number(self) -> int:
        """The number of the last commit."""
        return 0 if self.stamp is None else int(self.stamp.split(b" ")[0])


class CrawlLead:
    """The right to write the rows of a crawl, and what is written with it."""

    def __init__(
        self, link: BlockingLink, keys: RowKeys, lead_s: float = LEAD_S, role: str = ""
    ) -> None:
        self._link = link
        self._keys = keys
        self._where = keys.describe(link.address)
        self._lead_ms = round(lead_s * 1000)
        self._role = role
        self.token = secrets.token_hex(8)
        """What tells this process from others."""
        self._value: bytes | None = None
        """What stands in the key of the lead, once it was taken."""
        self._number = 0
        """How many commits there were, before and with ours."""
        self._stamp = b""
        """What stands in the key of commits since the last one."""
        looking: tuple[Command, ...] = (
            ("WATCH", keys.lead, keys.commit, keys.watched, keys.hold),
            ("GET", keys.lead),
            ("GET", keys.commit),
            ("EXISTS", keys.watched),
            ("EXISTS", keys.hold),
        )
        self._looking = [*map(pack, looking)]

    def myself(self, since: float) -> LeadHolder:
        """Return this process as others are shown it."""
        return LeadHolder(self.token, socket.gethostname(), os.getpid(), since, self._role)

    def taken_by(self, holder: LeadHolder | None) -> CrawlError:
        """Return the error of a lead that another process has."""
        return CrawlError(
            f"another process works on {self._where} ({holder or 'it has just ended'}): "
            "wait until it has ended, or stop it"
        )

    def try_to_take(self) -> bool:
        """Take the lead if nobody has it, and refuse what others began before."""
        return self._link.patiently(self._take_once)

    def renew(self) -> None:
        """Keep the lead when there is nothing to commit; raises as `commit` does."""
        self._link.patiently(lambda: self._commit_once(None, self._stamp))

    def commit(self, changes: PackedChanges) -> None:
        """Write something, all of it and once, or raise and have written nothing."""
        stamp = self._make_stamp(self._number + 1)
        self._link.patiently(lambda: self._commit_once(changes, stamp))
        self._number += 1
        self._stamp = stamp

    def resign(self) -> None:
        """Let another process take the lead at once, if it is still ours."""
        self._link.patiently(self.resign_at_once)

    def resign_at_once(self) -> None:
        """Do the same, if the server answers."""
        while self._value is not None:
            stored, _ = self._look()
            if stored.lead != self._value:
                self._link.send(("UNWATCH",))
                self._value = None
            elif self._execute([pack(("DEL", self._keys.lead))]):
                self._value = None

    # -- transactions ----------------------------------------------------------------------------

    def _take_once(self) -> bool:
        (now,) = self._link.send(("TIME",))
        while True:
            stored, _ = self._look()
            if stored.lead is not None and stored.lead != self._value:
                self._link.send(("UNWATCH",))
                return False
            if stored.lead is None:
                since = int(now[0]) + int(now[1]) / 1e6
                self._value = msgspec.json.encode(self.myself(since))
            number = stored.number + 1
            stamp = self._make_stamp(number)
            if self._write(stored, stamp, number, None):
                self._number, self._stamp = number, stamp
                return True

    def _commit_once(self, changes: PackedChanges | None, stamp: bytes) -> None:
        """Write changes with a stamp; None: only the lead is prolonged."""
        wait_until = time.monotonic() + HOLD_S
        while True:
            stored, answers = self._look(() if changes is None else changes.reads)
            if changes is not None and stored.stamp == stamp:  # done, but the answer was lost
                self._link.send(("UNWATCH",))
                return
            self._check(stored)
            if changes is not None and changes.has_lost_bodies(answers):
                self._refuse_lost(changes)
                continue
            if changes is not None and stored.is_held and time.monotonic() < wait_until:
                time.sleep(HOLD_CHECK_EVERY_S)
                continue
            number = self._number if changes is None else self._number + 1
            if self._write(stored, stamp, number, changes, answers):
                return

    def _look(self, reads: Sequence[bytes] = ()) -> tuple[_Stored, list[Any]]:
        """Return what is stored, and what else is to be read before a transaction."""
        answers = self._link.send_packed([*self._looking, *reads])
        looks = len(self._looking)
        return _Stored(*answers[1:looks]), answers[looks:]

    def _check(self, stored: _Stored) -> None:
        """Refuse to write if another process leads, or has, or if the server has lost writes."""
        if self._value is None or stored.lead not in {None, self._value}:
            raise self._lost()
        if stored.stamp != self._stamp:
            if stored.number > self._number:
                raise self._lost()
            raise ServerForgotError(
                f"the store has lost the last writes of {self._where}: it has commit "
                f"{stored.number}, and commit {self._number} was made, as if its server was "
                "restarted or replaced from an older copy; run the same command again to continue "
                "from what it has"
            )

    def _write(
        self,
        stored: _Stored,
        stamp: bytes,
        number: int,
        changes: PackedChanges | None,
        answers: Sequence[Any] = (),
    ) -> bool:
        """Write changes with what says so; False if the lead has changed meanwhile.

        If it has run out, because this process stood still, and nobody took it, it is taken again.
        """
        keys, lead_ms = self._keys, self._lead_ms
        assert self._value is not None, "the lead was taken, or is just being taken"
        end: list[Command] = [("SET", keys.commit, stamp)]
        if stored.lead is None:
            end.append(("SET", keys.lead, self._value, "PX", lead_ms))
        else:
            end.append(("PEXPIRE", keys.lead, lead_ms))
        if stored.is_watched and stamp != stored.stamp:
            entry = pack_entry(number, Changes()) if changes is None else changes.entry(number)
            end += [("RPUSH", keys.journal, entry), ("EXPIRE", keys.journal, WATCHED_S)]
        commands = [] if changes is None else changes.commands(answers)
        return self._execute([*commands, *map(pack, end)])

    def _execute(self, commands: Sequence[bytes]) -> bool:
        """Have commands carried out together; False if anything has changed since `_look`.

        A CrawlError says why they were refused.
        """
        sent = [pack(("MULTI",)), *commands, pack(("EXEC",))]
        *queued, executed = self._link.answers(sent, same=True)
        if isinstance(executed, Exception):
            errors = [answer for answer in queued if isinstance(answer, Exception)]
            first = errors[0] if errors else executed
            raise CrawlError(describe_error(first)) from first
        for answer in executed or ():
            if isinstance(answer, Exception):
                raise CrawlError(
                    f"the store has something else in a key of the crawl ({answer}): another "
                    "program has written there"
                ) from answer
        return executed is not None

    def _refuse_lost(self, changes: PackedChanges) -> None:
        """Raise an error if bodies are gone; whoever leads next refuses their settlements.

        So their pages are fetched again. It does no harm if another process has the lead by now.
        """
        keys, link = self._keys, self._link
        there = link.send(*(("EXISTS", key) for key in changes.bodies), same=True)
        lost = [
            reference
            for reference, is_there in zip(changes.bodies.values(), there, strict=True)
            if not is_there
        ]
        if not lost:  # a worker that did not hear that one was written has done so again
            return
        link.send(
            ("UNWATCH",),
            ("SADD", keys.lost_bodies, *lost),
            ("EXPIRE", keys.lost_bodies, UNSETTLED_S),
            same=True,
        )
        pages = "a page" if len(lost) == 1 else f"{len(lost)} pages"
        raise BodiesLostError(
            f"the store has lost what workers had written of {pages} of {self._where}, and their "
            "URLs wait again"
        )

    def _make_stamp(self, number: int) -> bytes:
        return f"{number} {self.token}".encode()

    def _lost(self) -> LeadLostError:
        return LeadLostError(
            f"another process has taken over {self._where}, while this one stood still: it goes on "
            "there"
        )
