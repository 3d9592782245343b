r"""A simulated web for tests: real sockets, described in a few lines, well-behaved or hostile.

    with Web() as web:
        home = web.site("a.test")
        home.page("/", links=["/b"], title="Home")
        home.raw("/b", b"HTTP/1.1 200 OK\r\n", Pause(5), Close())
        ...crawl with web.dns as the name table...
        assert min_gap_s(web.requests) >= 1

`Web` is the server, `Site` one host with its answers, `Reply` and `Raw` the kinds of answers,
`RequestRecord` a request that the server received and `traffic_of` the statistics of them.
`demo_site` describes a small site to crawl, `SimulatedWeb` a web of any size that misbehaves on
demand.
"""

from gossamer.testing.demo import demo_site
from gossamer.testing.simulator import SimulatedWeb
from gossamer.testing.site import Close, KeepOpen, Pause, Raw, RawStep, Repeat, Reply, Reset, Site
from gossamer.testing.traffic import RequestRecord, Traffic, min_gap_s, most_at_once, traffic_of
from gossamer.testing.web import Web

__all__ = [
    "Close",
    "KeepOpen",
    "Pause",
    "Raw",
    "RawStep",
    "Repeat",
    "Reply",
    "RequestRecord",
    "Reset",
    "SimulatedWeb",
    "Site",
    "Traffic",
    "Web",
    "demo_site",
    "min_gap_s",
    "most_at_once",
    "traffic_of",
]
