"""Looking names up, in threads of our own.

libcurl has twenty threads for it, and a look-up that waits for one of them counts as time that the
host takes: twenty names whose name servers say nothing would be the end of all other hosts. Here
waiting for a thread is not held against anybody.
"""

import asyncio
import re
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

import pycurl

from gossamer.model import NameTable, Url
from gossamer.model.errors import UsageError
from gossamer.policy.addresses import port_of
from gossamer.urls import host_key, host_of

_IP_LITERAL = re.compile(r"\[.*\]|[0-9.]+")
_WITH_PORT = re.compile(r"(?:\[.*\]|[0-9.]+):[0-9]+")


def is_address(host: str) -> bool:
    """Return whether the host of a URL in normal form is an IP address, and no name."""
    return _IP_LITERAL.fullmatch(host) is not None


def check_names(table: NameTable) -> None:
    """Raise `UsageError` if a name of the table has no address."""
    for name, given in table.items():
        several = [given] if isinstance(given, str) else given
        if not several or not all(map(_leads_somewhere, several)):
            raise UsageError(
                f"dns has {given!r} for {name}, which is no address: give an IP address, IP:PORT "
                "([IP]:PORT), or a list of IP addresses"
            )


def _leads_somewhere(given: object) -> bool:
    address = given if isinstance(given, str) else ""
    if _WITH_PORT.fullmatch(address):
        address = address.rpartition(":")[0]
    try:
        ip_address(address.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def connect_by_table(curl: pycurl.Curl, url: Url, table: NameTable) -> bool:
    """Make the handle connect where the table says; return False if the host is not in it.

    A host that is an IP address needs no lookup.
    """
    curl.unsetopt(pycurl.CONNECT_TO)
    curl.unsetopt(pycurl.RESOLVE)
    host = host_key(url)
    if is_address(host):
        return True
    address = table.get(host)
    if not address:
        return False
    if isinstance(address, str):
        # Empty fields in front mean any host and port. A kept connection to another address is
        # not used, so a changed entry takes effect at once.
        curl.setopt(pycurl.CONNECT_TO, [f"::{_host_and_port(address)}"])
    else:
        entry = f"{host_of(url)}:{port_of(url)}"
        curl.setopt(pycurl.RESOLVE, [f"{entry}:{','.join(address)}"])
    return True


def _host_and_port(address: str) -> str:
    """Return the address in libcurl's form, where an empty port means that of the URL."""
    if _WITH_PORT.fullmatch(address):
        return address
    bare_ipv6 = ":" in address and not address.startswith("[")
    return f"[{address}]:" if bare_ipv6 else f"{address}:"


KEEP_S: Final = 60.0
"""How long a name is not looked up again: as long as in libcurl."""
MAX_HOSTS: Final = 10_000
MAX_THREADS: Final = 100
_STACK_BYTES: Final = 512 * 1024
"""More than a look-up takes; the usual 8 MB would count for the memory that a worker may take."""

_LOCALHOST = re.compile(r"(?:.*\.)?localhost\.?")


def needs_lookup(host: str) -> bool:
    """Return whether a host is a name that name servers are asked for.

    An address is none, and libcurl itself knows what localhost and all names below it are.
    """
    return not is_address(host) and not _LOCALHOST.fullmatch(host)


class Lookup:
    """A look-up that was asked for, once for all who want to know."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.has_begun = asyncio.Event()
        self.found: asyncio.Future[tuple[str, ...] | OSError] = (
            asyncio.get_running_loop().create_future()
        )


class Lookups:
    """The look-ups of a client, and what they found."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._known: dict[str, tuple[tuple[str, ...], float]] = {}
        self._asked: dict[str, Lookup] = {}
        self._waiting: deque[Lookup] = deque()
        self._threads = 0

    async def find(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a name; an OSError if it has none, or that takes too long."""
        found, until = self._known.get(host, ((), 0.0))
        if time.monotonic() < until:
            return found
        lookup = self._asked.get(host)
        if lookup is None:
            lookup = self._asked[host] = Lookup(host)
            self._waiting.append(lookup)
            self._begin()
        await lookup.has_begun.wait()
        async with asyncio.timeout(self._timeout_s):
            result = await asyncio.shield(lookup.found)
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

    def _run(self, loop: asyncio.AbstractEventLoop, lookup: Lookup) -> None:
        """Look a name up, in a thread."""
        result = _look_up(lookup.host)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._end, lookup, result)

    def _end(self, lookup: Lookup, result: tuple[str, ...] | OSError) -> None:
        self._threads -= 1
        del self._asked[lookup.host]
        if not isinstance(result, OSError):
            if len(self._known) >= MAX_HOSTS:
                self._known.clear()
            self._known[lookup.host] = result, time.monotonic() + KEEP_S
        lookup.found.set_result(result)
        self._begin()


def _look_up(host: str) -> tuple[str, ...] | OSError:
    try:
        # As bytes: the name is in normal form, and not to be encoded once more.
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except OSError as error:
        return error
    except UnicodeError:
        return OSError("not a name")
    # An address of one interface is refused wherever it is, and libcurl cannot be told of it.
    return tuple(dict.fromkeys(str(remote[0]).partition("%")[0] for *_, remote in found))


def tell_address(curl: pycurl.Curl, url: Url, addresses: tuple[str, ...]) -> None:
    """Have a handle use these addresses for the host of a URL, itself or by a SOCKS5 proxy."""
    curl.unsetopt(pycurl.RESOLVE)
    if addresses:
        listed = ",".join(f"[{ip}]" if ":" in ip else ip for ip in addresses)
        # With a plus the entry is forgotten in time, like any other.
        curl.setopt(pycurl.RESOLVE, [f"+{host_of(url)}:{port_of(url)}:{listed}"])
