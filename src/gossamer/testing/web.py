"""The simulated web: its server and its sites."""

import ssl
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from gossamer.model.errors import UsageError
from gossamer.testing.server import LOOPBACK, ServerThread
from gossamer.testing.site import NOT_FOUND, Prepared, Raw, Site
from gossamer.testing.traffic import RequestRecord


class Web:
    """Any number of hosts behind one loopback port, distinguished by the Host field.

    The server has a thread and an event loop of its own, for `with` and `async with` alike, so
    a test may block, run a command in another process, or have its own loop. A host that is not
    a site (such as the address itself) is answered by the first site.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._sites: dict[str, Site] = {}
        self._first_site: Site | None = None
        self._dns: dict[str, str] = {}
        self._records: list[RequestRecord] = []
        self._arrival = threading.Condition()
        self._server: ServerThread | None = None

    def __enter__(self) -> Self:
        self._server = ServerThread(self._answer, self._tls)
        self._dns.update(dict.fromkeys(self._sites, self._location))
        return self

    def __exit__(self, *_error: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()

    async def __aenter__(self) -> Self:
        return self.__enter__()  # blocks for a millisecond, until the thread is started

    async def __aexit__(self, *_error: object) -> None:
        self.__exit__()

    def site(self, name: str) -> Site:
        """Return the site of that host name, created on first use."""
        name = name.lower()
        if name not in self._sites:
            if self._server is not None:
                self._dns[name] = self._location
            self._sites[name] = Site(name)
            self._first_site = self._first_site or self._sites[name]
        return self._sites[name]

    @property
    def address(self) -> tuple[str, int]:
        """The address and port the server listens on."""
        if self._server is None:
            raise UsageError("the web is not running; use it in a with statement")
        return LOOPBACK, self._server.port

    @property
    def dns(self) -> Mapping[str, str]:
        """A live table from the name of each site to the address and port that serves it."""
        return MappingProxyType(self._dns)

    @property
    def base_url(self) -> str:
        """The URL of the address itself, for clients without a name table."""
        return self.url(self._location, "")

    def url(self, host: str, path: str = "/") -> str:
        """Return the URL of a path on a host of this web."""
        return f"{'http' if self._tls is None else 'https'}://{host}{path}"

    @property
    def requests(self) -> list[RequestRecord]:
        """The requests so far, in the order they started."""
        return self._records.copy()

    def requests_to(self, host: str) -> list[RequestRecord]:
        """Return the requests to one host so far, in the order they started."""
        return [record for record in self.requests if record.host == host.lower()]

    def wait_for_requests(self, count: int, timeout_s: float = 10) -> list[RequestRecord]:
        """Return the requests once there are at least this many, or raise TimeoutError."""
        with self._arrival:
            if not self._arrival.wait_for(lambda: len(self._records) >= count, timeout_s):
                seen = len(self._records)
                raise TimeoutError(f"{seen} of {count} requests came within {timeout_s} s")
            return self._records.copy()

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        with self._arrival:
            self._records.clear()

    @property
    def _location(self) -> str:
        address, port = self.address
        return f"{address}:{port}"

    def _answer(self, record: RequestRecord) -> Prepared | Raw:
        """Record a request and return the answer; called by the server's thread."""
        with self._arrival:
            self._records.append(record)
            self._arrival.notify_all()
        site = self._sites.get(record.host, self._first_site)
        return NOT_FOUND if site is None else site.answer(record.path)
