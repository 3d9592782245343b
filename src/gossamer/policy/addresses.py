"""The address policy: contact the public internet, and what the operator allowed.

A page, a redirect or a name server can name any address. Gossamer runs inside somebody's network,
so an address of that network is contacted only if the operator, not the web, asked for it. The
checked address is that of the connection about to be opened: a name cannot change its meaning
between the check and the use.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Address, ip_address, ip_network
from typing import Self
from urllib.parse import urlsplit

import msgspec

from gossamer.errors import UsageError
from gossamer.model import Url
from gossamer.policy.special_networks import (
    IPV4_MAPPED,
    Address,
    Network,
    embedded_ipv4,
    special_use,
    unmapped,
)
from gossamer.urls import host_of, normalise, shown

_ADDRESS_AND_PORT = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):([0-9]{1,5})", re.ASCII)
_HOST_NAME = re.compile(r"[^\s/:@?#%*\\\[\]]+")
_LOOPBACK = (ip_address("127.0.0.1"), ip_address("::1"))


class AddressVerdict(msgspec.Struct, frozen=True):
    """Whether an address may be contacted; if not, why."""

    allowed: bool
    reason: str = ""
    is_own: bool = False
    """Whether it is allowed because the operator named it, or its host."""


_ALLOWED = AddressVerdict(allowed=True)
_OWN = AddressVerdict(allowed=True, is_own=True)


class AddressPolicy(msgspec.Struct, frozen=True):
    """A policy that allows global unicast addresses, and otherwise only what the operator named."""

    networks: tuple[Network, ...] = ()
    """Networks allowed on every port."""
    endpoints: frozenset[tuple[Address, int]] = frozenset()
    """Single addresses allowed on one port."""
    host_names: frozenset[str] = frozenset()
    """Hosts that may have any address."""

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Return the policy that also allows these networks, addresses, `address:port` and hosts.

        Raise `UsageError` for a text that is none of them.
        """
        networks: list[Network] = []
        endpoints: set[tuple[Address, int]] = set()
        host_names: set[str] = set()
        for text in (text.strip() for text in texts):
            if (network := _parse_network(text)) is not None:
                networks.append(network)
            elif (endpoint := _parse_endpoint(text)) is not None:
                endpoints.add(endpoint)
            else:
                host_names.add(_parse_host_name(text))
        return cls(tuple(networks), frozenset(endpoints), frozenset(host_names))

    def allowing_seed(self, url: Url) -> Self:
        """Return the policy that also allows the address and port that a seed contains.

        `localhost` means the loopback addresses. Any other name allows nothing: its address comes
        from a name server, not from the operator.
        """
        address = _parse_address(host_of(url).strip("[]"))
        named = () if address is None else (unmapped(address),)
        allowed = _LOOPBACK if host_of(url) == "localhost" else named
        endpoints = self.endpoints.union((ip, port_of(url)) for ip in allowed)
        return msgspec.structs.replace(self, endpoints=endpoints)

    def judge(self, ip: str, port: int, host: str = "") -> AddressVerdict:
        """Return whether a connection to this address and port, for this host, may be opened."""
        address = _parse_address(ip)
        if address is None:
            return AddressVerdict(allowed=False, reason=f"{shown(ip)} is not an IP address")
        address = unmapped(address)
        if host.removesuffix(".") in self.host_names or self._names(address, port):
            return _OWN
        use = self._special_use(address, port)
        return _ALLOWED if use is None else AddressVerdict(False, f"{ip} is {use}")

    def _names(self, address: Address, port: int) -> bool:
        return (address, port) in self.endpoints or any(
            address in network for network in self.networks
        )

    def _special_use(self, address: Address, port: int) -> str | None:
        if isinstance(address, IPv6Address):
            if address.scope_id is not None:
                return "bound to a network interface (RFC 4007)"
            embedded = embedded_ipv4(address)
            for inner in embedded.addresses:
                use = None if self._names(inner, port) else special_use(inner)
                if use is not None:
                    return f"carrying {inner}, which is {use}"
            if embedded.is_all:
                return None
        return special_use(address)


def _parse_address(text: str) -> Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def port_of(url: Url) -> int:
    """Return the port a URL leads to."""
    port = urlsplit(url).port
    return (443 if url.startswith("https:") else 80) if port is None else port


def _parse_network(text: str) -> Network | None:
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None
    if "/" in text and network.network_address != ip_address(text.partition("/")[0]):
        raise UsageError(
            f"the allowed network {shown(text)} does not fit its prefix length: "
            f"did you mean {network}?"
        )
    if isinstance(network, IPv4Network) or not network.subnet_of(IPV4_MAPPED):
        return network
    return IPv4Network((int(network.network_address) & 0xFFFF_FFFF, network.prefixlen - 96))


def _parse_endpoint(text: str) -> tuple[Address, int] | None:
    match = _ADDRESS_AND_PORT.fullmatch(text)
    if match is None:
        return None
    address, port = _parse_address(match[1] or match[2]), int(match[3])
    if address is None or not 0 < port < 65_536:
        raise UsageError(
            f"the allowed address {shown(text)} has no valid IP address and port: write it as in "
            "127.0.0.1:8080 or [::1]:8080"
        )
    return unmapped(address), port


def _parse_host_name(text: str) -> str:
    url = normalise(f"http://{text}/") if _HOST_NAME.fullmatch(text) else None
    host = None if url is None else host_of(url).removesuffix(".")
    # The URL standard reads "10.1" and "0x7f.1" as IPv4 addresses; here they more likely mean a
    # network.
    if host is None or _parse_address(host) is not None:
        raise UsageError(
            f"{shown(text)} cannot be allowed: give a network (10.0.0.0/8), an address "
            "(192.168.1.7), an address and port (127.0.0.1:8080, [::1]:8080) or a host name"
        )
    return host
