"""The registry of faults, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from gossamer.testing.simulator.codings import CODINGS
from gossamer.testing.simulator.content import CONTENT
from gossamer.testing.simulator.fault import Fault
from gossamer.testing.simulator.framing import FRAMING
from gossamer.testing.simulator.http2 import HTTP2
from gossamer.testing.simulator.links import LINKS
from gossamer.testing.simulator.markup import MARKUP
from gossamer.testing.simulator.redirects import REDIRECTS
from gossamer.testing.simulator.robots import ROBOTS_FAULTS
from gossamer.testing.simulator.slow import SLOW
from gossamer.testing.simulator.tls import TLS
from gossamer.testing.simulator.traps import TRAPS

FAMILIES: Mapping[str, tuple[Fault, ...]] = MappingProxyType(
    {
        "HTTP": FRAMING,
        "TLS": TLS,
        "HTTP/2": HTTP2,
        "content codings": CODINGS,
        "redirects": REDIRECTS,
        "types and charsets": CONTENT,
        "markup": MARKUP,
        "links": LINKS,
        "robots.txt and sitemaps": ROBOTS_FAULTS,
        "time": SLOW,
        "traps": TRAPS,
    }
)
"""The faults by subject, as people read them."""

FAULTS: Mapping[str, Fault] = MappingProxyType(
    {fault.name: fault for family in FAMILIES.values() for fault in family}
)
