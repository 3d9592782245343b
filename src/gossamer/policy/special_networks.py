"""The IP networks with a special purpose, from IANA's registries; all others are public.

Python's `ipaddress.is_global` is not used: its answer for the same address changed between
3.11 and 3.13, and it unwraps IPv4-mapped addresses only. An IPv6 address can contain an
IPv4 address in other ways too, and a router or a tunnel of the operator may send it there.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple, TypeAlias

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
