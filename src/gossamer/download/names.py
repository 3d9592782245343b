"""A table of host names that replaces DNS: for tests, and for names that DNS does not know."""

import re
from ipaddress import ip_address

import pycurl

from gossamer.errors import UsageError
from gossamer.model import NameTable, Url
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


def direct(curl: pycurl.Curl, url: Url, table: NameTable) -> bool:
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
