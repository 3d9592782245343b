"""Where the host of a request is: found by name servers, or in a table of names.

Names are looked up in threads of our own. libcurl has twenty threads for it, and a look-up that
waits for one of them counts as time that the host takes: twenty names whose name servers say
nothing would be the end of all other hosts. Here waiting for a thread is not held against anybody.

A proxy opens the connection to the host itself, so libcurl never asks us about the host's address.
It is found and judged here, before the request: a name that leads into a private network, or is
not found at all, is not given to the proxy. A SOCKS5 proxy that leaves names to us is told an
address that was judged; any other looks the name up once more, and what it finds then is its own
business.
"""

import asyncio
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

import msgspec
import pycurl

from gossamer.download.request_settings import ConnectionSettings
from gossamer.model import Cause, NameTable, Url
from gossamer.model.errors import UsageError
from gossamer.policy.addresses import AddressPolicy, port_of
from gossamer.urls import host_key, host_of

KEEP_S: Final = 60.0
"""How long a name is not looked up again: as long as in libcurl."""
MAX_HOSTS: Final = 10_000
MAX_THREADS: Final = 100
_STACK_BYTES: Final = 512 * 1024
"""More than a look-up takes; the usual 8 MB would count for the memory that a worker may take."""

_IP_LITERAL = re.compile(r"\[.*\]|[0-9.]+")
_LOCALHOST = re.compile(r"(?:.*\.)?localhost\.?")
_ENTRY = re.compile(r"\[?([0-9A-Fa-f]*+:[0-9A-Fa-f:.]*|[0-9.]+)\]?(?::([0-9]+))?")
"""IP, IP:PORT or [IP]:PORT."""


class HostVerdict(msgspec.Struct, frozen=True):
    """What is known of the addresses of a host."""

    refusal: tuple[Cause, str] | None = None
    """Why it may not be asked for."""
    addresses: tuple[str, ...] = ()
    """The addresses that were judged, if the host is a name."""


class HostFinder:
    """Tells handles where the hosts of their requests are."""

    def __init__(self, addresses: AddressPolicy, dns: NameTable | None, timeout_s: float) -> None:
        self._addresses = addresses
        self._dns = dns
        self._lookups = Lookups(timeout_s)
        self._judged: dict[tuple[str, int], tuple[HostVerdict, float]] = {}

    async def direct(
        self, curl: pycurl.Curl, url: Url, connection: ConnectionSettings
    ) -> tuple[Cause, str] | None:
        """Tell a handle where the host is, as far as that is our business; return why not."""
        if connection.proxy is not None:
            verdict = await self._judge_for_proxy(url)
            if verdict.refusal is None and not connection.proxy_resolves:
                _tell_addresses(curl, url, verdict.addresses)
            return verdict.refusal
        if self._dns is not None:
            if connect_by_table(curl, url, self._dns):
                return None
            return Cause.NAME_NOT_FOUND, "not in the table of names"
        host, addresses = host_key(url), tuple[str, ...]()
        # libcurl itself knows what localhost and all names below it are.
        if not _IP_LITERAL.fullmatch(host) and not _LOCALHOST.fullmatch(host):
            try:
                addresses = await self._lookups.find(host)
            except TimeoutError:
                return Cause.CONNECT_TIMEOUT, "looking up its name"
            except OSError as error:
                return Cause.NAME_NOT_FOUND, error.strerror or str(error)
        _tell_addresses(curl, url, addresses)
        return None

    async def _judge_for_proxy(self, url: Url) -> HostVerdict:
        """Return whether a proxy may be asked for the URL."""
        key, now = (host_key(url), port_of(url)), time.monotonic()
        verdict, until = self._judged.get(key, (None, 0.0))
        if verdict is None or now >= until:
            verdict = await self._judge(*key)
            if len(self._judged) >= MAX_HOSTS:
                self._judged.clear()
            self._judged[key] = verdict, now + KEEP_S
        return verdict

    async def _judge(self, host: str, port: int) -> HostVerdict:
        if host in self._addresses.host_names:  # it may have any address
            return HostVerdict()
        is_name = not _IP_LITERAL.fullmatch(host)
        try:
            if not is_name:
                places = [(host.strip("[]"), port)]
            elif self._dns is not None:
                places = places_in(self._dns.get(host), port)
            else:
                places = [(ip, port) for ip in await self._lookups.find(host)]
        except TimeoutError:
            return HostVerdict((Cause.CONNECT_TIMEOUT, "looking up the name for the proxy"))
        except OSError:
            places = []
        if not places:
            detail = "its address is judged before a proxy is asked for it"
            return HostVerdict((Cause.NAME_NOT_FOUND, detail))
        for ip, its_port in places:
            verdict = self._addresses.judge(ip, its_port, host)
            if not verdict.allowed:
                return HostVerdict((Cause.ADDRESS_REFUSED, verdict.reason))
        return HostVerdict(addresses=tuple(ip for ip, _ in places) if is_name else ())


def _tell_addresses(curl: pycurl.Curl, url: Url, addresses: tuple[str, ...]) -> None:
    """Have a handle use these addresses for the host of a URL, itself or by a SOCKS5 proxy."""
    curl.unsetopt(pycurl.RESOLVE)
    if addresses:
        joined = ",".join(map(_bracketed, addresses))
        # With a plus the entry is forgotten in time, like any other.
        curl.setopt(pycurl.RESOLVE, [f"+{host_of(url)}:{port_of(url)}:{joined}"])


def connect_by_table(curl: pycurl.Curl, url: Url, table: NameTable) -> bool:
    """Make the handle connect where the table says; return False if the host is not in it.

    A host that is an IP address needs no lookup.
    """
    curl.unsetopt(pycurl.CONNECT_TO)
    curl.unsetopt(pycurl.RESOLVE)
    host = host_key(url)
    if _IP_LITERAL.fullmatch(host):
        return True
    entry = table.get(host)
    places = places_in(entry, port_of(url))
    if isinstance(entry, str) and places:
        # Empty fields in front mean any host and port. A kept connection to another address is
        # not used, so a changed entry takes effect at once.
        ip, port = places[0]
        curl.setopt(pycurl.CONNECT_TO, [f"::{_bracketed(ip)}:{port}"])
    elif places:
        addresses = ",".join(_bracketed(ip) for ip, _ in places)
        curl.setopt(pycurl.RESOLVE, [f"{host_of(url)}:{port_of(url)}:{addresses}"])
    return bool(places)


def check_names(table: NameTable) -> None:
    """Raise `UsageError` if a name of the table has no address."""
    for name, entry in table.items():
        if not places_in(entry, 0):
            raise UsageError(
                f"dns has {entry!r} for {name}, which is no address: give an IP address, IP:PORT "
                "([IP]:PORT), or a list of IP addresses"
            )


def places_in(entry: str | Sequence[str] | None, port: int) -> list[tuple[str, int]]:
    """Return addresses and ports of an entry in a table of names; none if any of it is wrong."""
    texts = [entry] if isinstance(entry, str) else entry or ()
    places = []
    for text in texts:
        match = _ENTRY.fullmatch(str(text))
        try:
            ip = ip_address(match[1] if match else "")
        except ValueError:
            return []
        places.append((str(ip), int((match and match[2]) or port)))
    return places


def _bracketed(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


class _Lookup:
    """A look-up that was asked for, once for all who want to know."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.has_begun = asyncio.Event()
        self.result: asyncio.Future[tuple[str, ...] | OSError] = (
            asyncio.get_running_loop().create_future()
        )


class Lookups:
    """The look-ups of a client, by daemon threads, and what they found."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._known: dict[str, tuple[tuple[str, ...], float]] = {}
        self._asked: dict[str, _Lookup] = {}
        self._waiting: deque[_Lookup] = deque()
        self._threads = 0

    async def find(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a name; an OSError if it has none, or that takes too long."""
        addresses, until = self._known.get(host, ((), 0.0))
        if time.monotonic() < until:
            return addresses
        lookup = self._asked.get(host)
        if lookup is None:
            lookup = self._asked[host] = _Lookup(host)
            self._waiting.append(lookup)
            self._begin()
        await lookup.has_begun.wait()
        async with asyncio.timeout(self._timeout_s):
            result = await asyncio.shield(lookup.result)
        if isinstance(result, OSError):
            raise result
        return result

    def _begin(self) -> None:
        """Begin look-ups while there are threads for them."""
        loop = asyncio.get_running_loop()
        while self._waiting and self._threads < MAX_THREADS:
            lookup = self._waiting.popleft()
            lookup.has_begun.set()
            self._threads += 1
            usual = threading.stack_size(_STACK_BYTES)
            # One that is still under way is no reason to wait at the end of the program.
            threading.Thread(target=self._run, args=(loop, lookup), daemon=True).start()
            threading.stack_size(usual)

    def _run(self, loop: asyncio.AbstractEventLoop, lookup: _Lookup) -> None:
        """Look a name up, in a thread."""
        result = _look_up(lookup.host)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._end, lookup, result)

    def _end(self, lookup: _Lookup, result: tuple[str, ...] | OSError) -> None:
        self._threads -= 1
        del self._asked[lookup.host]
        if not isinstance(result, OSError):
            if len(self._known) >= MAX_HOSTS:
                self._known.clear()
            self._known[lookup.host] = result, time.monotonic() + KEEP_S
        lookup.result.set_result(result)
        self._begin()


def _look_up(host: str) -> tuple[str, ...] | OSError:
    try:
        # As bytes: the name is in normal form, and not to be encoded once more.
        answers = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        return error
    except UnicodeError:
        return OSError("not a name")
    # An address of one interface is refused wherever it is, and libcurl cannot be told of it.
    return tuple(dict.fromkeys(str(remote[0]).partition("%")[0] for *_, remote in answers))
