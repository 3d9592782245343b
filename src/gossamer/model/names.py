"""The names of things on the web: URLs, hosts, fingerprints, addresses."""

from collections.abc import Mapping, Sequence
from typing import NewType, TypeAlias

Url = NewType("Url", str)
"""An absolute http or https URL in normal form: pure ASCII, no fragment, no credentials."""

HostKey = NewType("HostKey", str)
"""The key of a host for politeness: its name in lower case, without port and trailing dot."""

Fingerprint = NewType("Fingerprint", str)
"""The form of a URL for comparison: URLs with equal fingerprints count as one page."""

NameTable: TypeAlias = Mapping[str, str | Sequence[str]]
"""A table in place of DNS: from host name (lower case) to "IP" or "IP:PORT" ("[IP]:PORT"), or to
several IPs to try."""
