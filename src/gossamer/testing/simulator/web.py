"""The simulated web: hosts of every kind, honest and faulty, on one loopback port."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from types import MappingProxyType

import msgspec

from gossamer.model.errors import UsageError
from gossamer.testing.server import LOOPBACK, ServerThread
from gossamer.testing.simulator.content import CODINGS, CONTENT, MARKUP
from gossamer.testing.simulator.fault import Fault, FaultRequest
from gossamer.testing.simulator.framing import FRAMING, SLOW
from gossamer.testing.simulator.hosts import HonestPages, Hosts, page_path
from gossamer.testing.simulator.links import LINKS, REDIRECTS, TRAPS
from gossamer.testing.simulator.robots import ROBOTS_FAULTS
from gossamer.testing.site import NOT_FOUND, Prepared, Raw, prepare
from gossamer.testing.traffic import RequestRecord

FAMILIES: Mapping[str, tuple[Fault, ...]] = {
    "HTTP": FRAMING,
    "content codings": CODINGS,
    "redirects": REDIRECTS,
    "types and charsets": CONTENT,
    "markup": MARKUP,
    "links": LINKS,
    "robots.txt and sitemaps": ROBOTS_FAULTS,
    "time": SLOW,
    "traps": TRAPS,
}
"""The faults by subject, as people read them."""

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {fault.name: fault for family in FAMILIES.values() for fault in family}
)
"""The faults by name."""


class SimulatedWeb(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A web that is the same wherever its numbers are the same, of any size.

    Its hosts are h0.test, h1.test …, and one for each fault: maze.test, gzip-bomb.test …
    """

    seed: int = 1
    hosts: int = 100
    pages: int = 100
    """How many pages the largest host has; the others have fewer, by a power law."""
    faults: Mapping[str, float] = {}
    """The share of the hosts that have each fault; with 0, the host of its name is linked."""
    domain: str = "test"
    catalogue: Mapping[str, Fault] = FAULTS
    """The faults by name. Add your own: `{**FAULTS, "mine": Fault("mine", …)}`."""

    def __post_init__(self) -> None:
        if self.hosts < 1 or self.pages < 1:
            raise UsageError("a web has at least one host and one page")
        for name, share in self.faults.items():
            if name not in self.catalogue:
                raise UsageError(f"there is no fault {name!r}: --list-faults shows all")
            if not 0 <= share <= 1:
                raise UsageError(f"the share of hosts with {name} must be from 0 to 1")
        if sum(self.faults.values()) > 1:
            raise UsageError("the shares of all faults are more than all hosts together")

    @contextmanager
    def serve(self, port: int = 0) -> Iterator["ServedWeb"]:
        """Serve it on a loopback port, inside the `with` statement."""
        served = ServedWeb(self)
        server = ServerThread(served.answer, port=port)
        served.port = server.port
        try:
            yield served
        finally:
            server.stop()

    @cached_property
    def all_hosts(self) -> Hosts:
        """The hosts."""
        return Hosts(self.seed, self.hosts, self.pages, self.faults, self.catalogue)

    @cached_property
    def honest_pages(self) -> HonestPages:
        """The pages of hosts that play no fault."""
        return HonestPages(self.seed)

    @property
    def labels(self) -> list[str]:
        """The names of the hosts before the domain: those with numbers, and those of the faults."""
        return [*(f"h{number}" for number in range(self.hosts)), *self.faults]


class ServedWeb:
    """A simulated web that is being served."""

    def __init__(self, web: SimulatedWeb) -> None:
        self.web = web
        self.port = 0
        self.requests: Counter[str] = Counter()
        """How often each host was asked, by its label."""

    @property
    def dns(self) -> Mapping[str, str]:
        """The table of names for a crawl."""
        location = f"{LOOPBACK}:{self.port}"
        return {f"{label}.{self.web.domain}": location for label in self.web.labels}

    def origin(self, label: str) -> str:
        """Return the scheme, name and port of a host."""
        # Names below localhost are found without a table, but have the port of the server.
        port = f":{self.port}" if self.web.domain == "localhost" else ""
        return f"http://{label}.{self.web.domain}{port}"

    def home(self, label: str = "h0") -> str:
        """Return the URL of the home page of a host."""
        return f"{self.origin(label)}/"

    def honest_urls(self, label: str) -> list[str]:
        """Return the pages of a host that a crawl from its home page must have."""
        host = self.web.all_hosts.find(label)
        if host is None:
            raise UsageError(f"this web has no host {label!r}")
        pages = [page for page in range(host.size) if not host.is_private(page)]
        return [f"{self.origin(label)}{page_path(host, page)}" for page in pages]

    def answer(self, record: RequestRecord) -> Prepared | Raw:
        """Return the answer to a request; called by the server's thread."""
        label = record.host.removesuffix(f".{self.web.domain}")
        host = self.web.all_hosts.find(label)
        if host is None:
            return NOT_FOUND
        self.requests[label] += 1
        elsewhere = (
            [self.home(other) for other in self._neighbours(label)] if record.path == "/" else []
        )
        origin = self.origin(label)
        honest = partial(self.web.honest_pages.answer, host, origin, record.path, elsewhere)
        played = host.fault and host.fault.answer(FaultRequest(origin, record, honest))
        answer = played or honest()
        return answer if isinstance(answer, Raw) else prepare(answer)

    def _neighbours(self, label: str) -> Iterator[str]:
        if label == "h0":
            yield from (name for name, share in self.web.faults.items() if not share)
        if label[1:].isdigit():
            yield from (f"h{other}" for other in self.web.all_hosts.neighbours(int(label[1:])))
