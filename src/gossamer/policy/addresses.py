"""The address policy: contact the public internet, and what the operator allowed.

A page, a redirect or a name server can name any address. Gossamer runs inside somebody's network,
so an address of that network is contacted only if the operator, not the web, asked for it. The
checked address is that of the connection about to be opened: a name cannot change its meaning
between the check and the use.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

import msgspec

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.urls import host_of, normalise, shown

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

IPV4_MAPPED = IPv6Network("::ffff:0:0/96")

_IPV4_SPECIAL = tuple(
    (IPv4Network(network), use)
    for network, use in (
        ("0.0.0.0/8", "“this network” (RFC 791)"),
        ("10.0.0.0/8", "private (RFC 1918)"),
        ("100.64.0.0/10", "shared by a provider's customers (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("169.254.0.0/16", "link-local (RFC 3927)"),
        ("172.16.0.0/12", "private (RFC 1918)"),
        ("192.0.0.0/24", "for protocol assignments (RFC 6890)"),
        ("192.0.2.0/24", "for documentation (RFC 5737)"),
        ("192.88.99.0/24", "the retired 6to4 relay (RFC 7526)"),
        ("192.168.0.0/16", "private (RFC 1918)"),
        ("198.18.0.0/15", "for benchmarks (RFC 2544)"),
        ("198.51.100.0/24", "for documentation (RFC 5737)"),
        ("203.0.113.0/24", "for documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 1112)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
    )
)

_IPV6_SPECIAL = tuple(
    (IPv6Network(network), use)
    for network, use in (
        ("::/128", "unspecified (RFC 4291)"),
        ("::1/128", "loopback (RFC 4291)"),
        ("64:ff9b:1::/48", "for translation inside a network (RFC 8215)"),
        ("100::/64", "for discarding (RFC 6666)"),
        ("2001::/23", "for protocol assignments (RFC 2928)"),
        ("2001:db8::/32", "for documentation (RFC 3849)"),
        ("3fff::/20", "for documentation (RFC 9637)"),
        ("fc00::/7", "unique local (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    )
)

_GLOBAL_UNICAST = IPv6Network("2000::/3")  # all that IANA has opened for it (RFC 4291, 2.4)

_IPV4_COMPATIBLE = IPv6Network("::/96")  # RFC 4291, 2.5.5.1
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052, 2.1
_TEREDO = IPv6Network("2001::/32")  # RFC 4380, 4
_6TO4 = IPv6Network("2002::/16")  # RFC 3056, 2
_ISATAP = 0x0000_5EFE  # the middle of the address, save for one bit: RFC 5214, 6.1
_ISATAP_UNIVERSAL_BIT = 0x0200_0000


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


class Embedded(NamedTuple):
    """The IPv4 addresses inside an IPv6 address."""

    addresses: tuple[IPv4Address, ...]
    is_all: bool
    """Whether only they matter; otherwise the IPv6 address itself is checked, too."""


def special_use(address: Address) -> str | None:
    """Return the special purpose of an address, None if it is on the public internet."""
    if isinstance(address, IPv4Address):
        return next((use for network, use in _IPV4_SPECIAL if address in network), None)
    use = next((use for network, use in _IPV6_SPECIAL if address in network), None)
    if use is None and address not in _GLOBAL_UNICAST:
        return "not global unicast (RFC 4291)"
    return use


def embedded_ipv4(address: IPv6Address) -> Embedded:
    """Return the IPv4 addresses inside an IPv6 address that is not IPv4-mapped."""
    bits = int(address)
    if address in _NAT64 or (address in _IPV4_COMPATIBLE and bits > 1):
        return Embedded((_ipv4(bits),), is_all=True)
    if address in _6TO4:
        return Embedded((_ipv4(bits >> 80),), is_all=True)
    if address in _TEREDO:
        server, client = _ipv4(bits >> 64), _ipv4(~bits)
        return Embedded((server, client), is_all=True)
    if (bits >> 32) & 0xFFFF_FFFF & ~_ISATAP_UNIVERSAL_BIT == _ISATAP:
        return Embedded((_ipv4(bits),), is_all=False)
    return Embedded((), is_all=False)


def unmapped(address: Address) -> Address:
    """Return the IPv4 address of an IPv4-mapped one, else the address itself."""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _ipv4(bits: int) -> IPv4Address:
    return IPv4Address(bits & 0xFFFF_FFFF)


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
