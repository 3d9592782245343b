"""A table of host names in the place of DNS: for tests, and for names that DNS does not know."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pycurl

from gossamer.model import Url
from gossamer.policy.addresses import port_of
from gossamer.urls import host_key, host_of

NameTable: TypeAlias = Mapping[str, str | Sequence[str]]
"""From host name (lower case) to "IP" or "IP:PORT" ("[IP]:PORT"), or to several IPs to try."""

_IP_LITERAL = re.compile(r"\[.*\]|[0-9.]+")
_WITH_PORT = re.compile(r"(?:\[.*\]|[0-9.]+):[0-9]+")


def direct(curl: pycurl.Curl, url: Url, table: NameTable) -> bool:
    """Make the handle connect where the table says; return False when it knows no such host.

    A host that is an IP address is left alone: it needs no look-up.
    """
    curl.unsetopt(pycurl.CONNECT_TO)
    curl.unsetopt(pycurl.RESOLVE)
    host = host_key(url)
    if _IP_LITERAL.fullmatch(host):
        return True
    place = table.get(host)
    if not place:
        return False
    if isinstance(place, str):
        # Empty fields in front stand for any host and port. A kept connection to another place
        # is not used, so a changed entry counts at once.
        curl.setopt(pycurl.CONNECT_TO, [f"::{_host_and_port(place)}"])
    else:
        entry = f"{host_of(url)}:{port_of(url)}"
        curl.setopt(pycurl.RESOLVE, [f"{entry}:{','.join(place)}"])
    return True


def _host_and_port(place: str) -> str:
    """Return the place in libcurl's form, in which an empty port stands for the URL's."""
    if _WITH_PORT.fullmatch(place):
        return place
    bare_ipv6 = ":" in place and not place.startswith("[")
    return f"[{place}]:" if bare_ipv6 else f"{place}:"
