"""A crawl in memory, over its rows in a database.

The rules ask and change it, without waiting for anything. What they change is collected, and
written with `commit` whenever its owner says so; what only the database has is read when it is
wanted.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

import msgspec

from gossamer.frontier.host_memory import HostMemory
from gossamer.frontier.page_memory import PageMemory
from gossamer.frontier.url_memory import Pending, UrlMemory
from gossamer.frontier.waiting import HEAD, WaitingUrls
from gossamer.model import HostKey
from gossamer.policy.cookies import MAX_COOKIE_DOMAINS, Cookie, CookieChanges, change_jar
from gossamer.stores.counting import COUNTS_NAME, unpack_counts
from gossamer.stores.reading import read_counters
from gossamer.stores.rows import LeaseRow, RelaxingUrl, Rows
from gossamer.stores.url_record import UrlState

EXPIRED_NOTE: Final = "expired_before"
"""The note of up to when pages may have lost their content, as its time was over."""


class CrawlMemory:
    """Everything that the rules of a crawl ask and change."""

    def __init__(self, rows: Rows, *, with_times: bool, head: int = HEAD) -> None:
        """Load a crawl; `with_times` if it matters when a URL was finished."""
        self.rows = rows
        self.pending = Pending()
        self._notes = rows.metadata()
        self.counters = read_counters(self.get)
        self._stored_counters = msgspec.structs.asdict(self.counters)
        self.hosts = HostMemory(rows, self.pending)
        self.urls = UrlMemory(rows, self.pending, with_times=with_times)
        self.waiting = WaitingUrls(rows, self.pending, self.urls, head=head)
        self.pages = PageMemory(rows, self.pending, rows.last_result())
        self.leases = {lease.url: lease for lease in rows.leases()}
        """The leases that were stored when it was loaded."""
        self._load()

    def _load(self) -> None:
        for host in self.rows.hosts():
            self.hosts.load(host)
        for domain in self.rows.domains():
            self.hosts.load_domain(domain)
        urls, waiting, leases = self.urls, self.waiting, self.leases
        for known in self.rows.known_urls():
            urls.load(known)
            if known.state == UrlState.QUEUED:
                if known.id in leases:
                    urls.states[known.id] = UrlState.LEASED
                else:
                    assert known.queue is not None
                    waiting.load(known.host, known.queue)
            elif known.state == UrlState.UNSCORED:
                waiting.add_unscored(known.id)
        urls.count_all()
        stored = unpack_counts(self.get(COUNTS_NAME))
        urls.counts.first_attempt_at = stored.first_attempt_at
        urls.counts.last_attempt_at = stored.last_attempt_at
        for page in self.rows.known_pages():
            self.pages.load(page)

    # -- what waits --------------------------------------------------------------------------------

    def queued(self) -> Iterator[tuple[HostKey, str, int, int]]:
        """Yield host, domain, queue and number of URLs, for each queue that has any."""
        hosts = self.hosts
        for host, queue, count in self.waiting.counts():
            yield hosts.keys[host], hosts.domain_of(host), queue, count

    def sort_again(self, queue_of: Callable[[float], int]) -> None:
        """Put every URL that has a score into the queue of its score in a new table."""
        urls, waiting = self.urls, WaitingUrls(self.rows, self.pending, self.urls)
        for row in urls.all():
            if row.state == UrlState.UNSCORED:
                waiting.add_unscored(row.id)
            elif row.score is not None:
                row = urls.change(row.id)  # noqa: PLW2901 -- the same one, to be changed
                assert row.score is not None
                row.queue = queue_of(row.score)
                if urls.states[row.id] == UrlState.QUEUED:
                    waiting.push(row)
        self.waiting = waiting

    # -- what is kept with the crawl as a whole --------------------------------------------------

    def get(self, name: str) -> bytes | None:
        """Return a note."""
        return self._notes.get(name)

    def put(self, name: str, value: bytes) -> None:
        """Store a note."""
        if self._notes.get(name) != value:
            self._notes[name] = self.pending.now.metadata[name] = value

    def remove_note(self, name: str) -> None:
        """Remove a note, if there is one of that name."""
        if self._notes.pop(name, None) is not None:
            self.pending.now.metadata[name] = None

    # -- leases and shorter paths ----------------------------------------------------------------

    def put_lease(self, url_id: int, lease: LeaseRow | None) -> None:
        """Store a lease; None: it has ended."""
        self.pending.now.leases[url_id] = lease

    def put_relaxing(self, url_id: int, relaxing: RelaxingUrl | None) -> None:
        """Store that the links of a URL are still to be followed; None: they are not."""
        self.pending.now.relaxing[url_id] = relaxing

    # -- durability ------------------------------------------------------------------------------

    def write(self) -> Callable[[], None] | None:
        """Begin to make durable what has changed; None: it is already."""
        for name, value in msgspec.structs.asdict(self.counters).items():
            if value != self._stored_counters[name]:
                self._stored_counters[name] = value
                self.put(name, str(value).encode())
        if not self.pending.now:
            return None
        finish = self.pending.write(self.rows)
        if finish is None:
            self.end_write()
        return finish

    def end_write(self) -> None:
        """Let go of what is durable now."""
        changes = self.pending.end()
        self.urls.let_go(changes, self.waiting.holds)

    def note_expired(self, before: float) -> None:
        """Note that pages fetched up to then may have lost their content."""
        expired = max(before, float(self.get(EXPIRED_NOTE) or b"-inf"))
        self.put(EXPIRED_NOTE, str(expired).encode())

    def bands(self, since: float) -> Iterable[tuple[int, bytes]]:
        """Return the pages that have a sketch and were fetched after `since`, with its bands."""
        return self.rows.bands(since)


COOKIES_NOTE = "cookies:"
"""How the name of the note begins in which the cookies of a domain are; the domain follows."""
COOKIE_DOMAINS_NOTE = "cookie_domains"
"""The note that counts them."""

_decode = msgspec.msgpack.Decoder(list[Cookie]).decode


class Notes(Protocol):
    """The notes of a crawl, wherever they are kept."""

    def get(self, name: str) -> bytes | None:
        """Return a note."""

    def put(self, name: str, value: bytes) -> None:
        """Store a note."""

    def remove_note(self, name: str) -> None:
        """Remove a note, if there is one of that name."""


def read_jar(note: bytes | None) -> list[Cookie]:
    """Return the cookies of a domain, those that were set last at the end."""
    return [] if note is None else _decode(note)


def change_cookies(notes: Notes, domain: str, changes: CookieChanges) -> None:
    """Change the cookies of a domain, as `lua/steps/put_cookies.lua` does."""
    name = COOKIES_NOTE + domain
    before = notes.get(name)
    domains = int(notes.get(COOKIE_DOMAINS_NOTE) or b"0")
    jar = change_jar(read_jar(before), changes)
    if jar and (before is not None or domains < MAX_COOKIE_DOMAINS):
        notes.put(name, msgspec.msgpack.encode(jar))
        domains += before is None
    elif before is not None:
        notes.remove_note(name)
        domains -= 1
    notes.put(COOKIE_DOMAINS_NOTE, str(domains).encode())
