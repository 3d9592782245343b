"""What a worker knows of traps: the counts of the hosts it serves, kept in the store.

A host is served by one worker at a time, so its counts are here; the store has them for the next
one. Workers that share a host count each what they see, and the last one to write is believed.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.frontier.contract import FrontierClient, Link, Settled, Task
from gossamer.model import HostKey
from gossamer.policy.traps import CLEAR, HostTraps, TrapVerdict, TrapVisit, group_of

TRAPS_NOTE: Final = "traps:"
"""What the names of the notes begin with, before that of the host."""
MAX_HOSTS: Final = 500
ASK_AFTER: Final = 10
"""Hosts with fewer pages are not asked about in the store, and not kept there."""
SAVE_EVERY: Final = 50
MAX_LINKS: Final = 100
"""How many links of a page are considered."""


class _Counted:
    """The counts of one host, and what is not for the store."""

    def __init__(self) -> None:
        self.counts = HostTraps()
        self.is_loaded = False
        self.saved_at = 0
        self.last_links: frozenset[bytes] = frozenset()
        """The links of the page before."""


class TrapWatch:
    """Judges tasks, and notes what came of them."""

    def __init__(self, store: FrontierClient) -> None:
        self._store = store
        self._hosts: OrderedDict[HostKey, _Counted] = OrderedDict()

    def judge(self, task: Task) -> TrapVerdict:
        """Return what is to be done with a task; seeds and sitemaps are always fetched."""
        host = self._hosts.get(task.host)
        if host is None or not task.depth or task.sitemap_of:
            return CLEAR
        return host.counts.judge(task.url)

    def examines(self, task: Task) -> bool:
        """Tell whether the page of a task is examined, if nobody else says that it repeats one."""
        host = self._hosts.get(task.host)
        return host is None or host.counts.examines_next

    async def note(
        self, task: Task, links: Sequence[Link], settled: Settled, wording: int | None
    ) -> None:
        """Count a page that was fetched; `wording` is None if it is not examined."""
        host = self._hosts.setdefault(task.host, _Counted())
        self._hosts.move_to_end(task.host)
        if len(self._hosts) > MAX_HOSTS:
            await self._save(*self._hosts.popitem(last=False))
        is_changed = False
        if wording is None and settled.repeats is None:
            host.counts.pass_over()
        else:
            new, known = self._links_of_group(task, links[:MAX_LINKS], settled, host)
            visit = TrapVisit(
                url=task.url,
                repeats=settled.repeats,
                text_template_hash=wording or 0,
                new=new,
                known=known,
            )
            is_changed = host.counts.note(visit)
        if host.counts.visits >= ASK_AFTER and not host.is_loaded:
            host.is_loaded = True
            await self._load(task.host, host)
        elif host.is_loaded and (is_changed or host.counts.visits >= host.saved_at + SAVE_EVERY):
            await self._save(task.host, host)

    def _links_of_group(
        self, task: Task, links: Sequence[Link], settled: Settled, host: _Counted
    ) -> tuple[int, int]:
        """Return how many links lead to new pages of the same directory, and to known ones.

        What stood on the page before as well is a menu.
        """
        group, new_keys = group_of(task.url), frozenset(settled.new_links)
        own = [
            link.key
            for link in links
            if link.host == task.host
            and link.url != task.url
            and group_of(link.url) == group
            and not host.counts.knows(link.url)
        ]
        new = sum(key in new_keys for key in own)
        known = sum(key not in new_keys and key not in host.last_links for key in own)
        host.last_links = frozenset(own)
        return new, known

    async def _load(self, name: HostKey, host: _Counted) -> None:
        """Go on with what others have counted of a host, if they have."""
        stored = await self._store.note(TRAPS_NOTE + name)
        if stored is None:
            return
        try:
            before = msgspec.msgpack.decode(stored, type=HostTraps)
        except msgspec.MsgspecError:  # of another version: the counts begin at 0
            return
        if before.visits > host.counts.visits:
            before.text_templates |= host.counts.text_templates
            host.counts, host.saved_at = before, before.visits

    async def _save(self, name: HostKey, host: _Counted) -> None:
        if host.is_loaded:
            host.saved_at = host.counts.visits
            await self._store.put_note(TRAPS_NOTE + name, msgspec.msgpack.encode(host.counts))


def is_deferred(verdict: TrapVerdict, task: Task) -> bool:
    """Tell whether a task is put behind the others of its host: once, at its first turn."""
    return verdict.cause is not None and not verdict.stop and task.attempt == 1
