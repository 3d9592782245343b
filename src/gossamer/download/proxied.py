"""The address guard for requests through a proxy.

The proxy opens the connection to the host, so libcurl never asks us about the host's address. It is
looked up and judged here, before the request: a name that leads into a private network, or is not
found at all, is not given to the proxy. A SOCKS5 proxy that leaves names to us is told an address
that was judged; any other looks the name up once more, and what it finds then is its own business.
"""

import re
import time

import msgspec

from gossamer.download.lookups import KEEP_S, MAX_HOSTS, Lookups, is_address
from gossamer.model import Cause, NameTable, Url
from gossamer.policy.addresses import AddressPolicy, port_of
from gossamer.urls import host_key


class HostVerdict(msgspec.Struct, frozen=True):
    """What is known of the addresses of a host."""

    cause: Cause | None = None
    """Why it may not be asked for; None: it may."""
    detail: str = ""
    addresses: tuple[str, ...] = ()
    """Those that were judged, if it is a name."""


class ProxiedGuard:
    """Judges hosts that a proxy is to be asked for."""

    def __init__(self, addresses: AddressPolicy, dns: NameTable | None, lookups: Lookups) -> None:
        self._addresses = addresses
        self._dns = dns
        self._lookups = lookups
        self._known: dict[tuple[str, int], tuple[HostVerdict, float]] = {}

    async def judge(self, url: Url) -> HostVerdict:
        """Return whether the proxy may be asked for the URL."""
        key, now = (host_key(url), port_of(url)), time.monotonic()
        verdict, until = self._known.get(key, (None, 0.0))
        if verdict is None or now >= until:
            verdict = await self._judge(*key)
            if len(self._known) >= MAX_HOSTS:
                self._known.clear()
            self._known[key] = verdict, now + KEEP_S
        return verdict

    async def _judge(self, host: str, port: int) -> HostVerdict:
        if host in self._addresses.host_names:  # it may have any address
            return HostVerdict()
        try:
            is_name = not is_address(host)
            found = await self._find(host, port) if is_name else [(host.strip("[]"), port)]
        except TimeoutError:
            return HostVerdict(Cause.CONNECT_TIMEOUT, "looking up the name for the proxy")
        except (OSError, UnicodeError):
            return HostVerdict(
                Cause.NAME_NOT_FOUND, "its address is judged before a proxy is asked for it"
            )
        for ip, its_port in found:
            verdict = self._addresses.judge(ip, its_port, host)
            if not verdict.allowed:
                return HostVerdict(Cause.ADDRESS_REFUSED, verdict.reason)
        return HostVerdict(addresses=tuple(ip for ip, _ in found) if is_name else ())

    async def _find(self, host: str, port: int) -> list[tuple[str, int]]:
        if self._dns is not None:
            return _from_table(self._dns.get(host), port)
        return [(ip, port) for ip in await self._lookups.find(host)]


def _from_table(entry: object, port: int) -> list[tuple[str, int]]:
    """Return what a table of names says, as addresses with ports."""
    if not entry:
        raise OSError("not in the table of names")
    if not isinstance(entry, str):
        return [(str(ip), port) for ip in entry]  # type: ignore[attr-defined]  # a list of texts
    match = re.fullmatch(r"\[?([0-9A-Fa-f:]*:[0-9A-Fa-f:.]*|[0-9.]+)\]?(?::([0-9]+))?", entry)
    if match is None:
        raise OSError("not an address in the table of names")
    return [(match[1], int(match[2] or port))]
