r"""A small web of one's own: real sockets, described in a few lines, kind or hostile as needed.

    with Web() as web:
        home = web.site("a.test")
        home.page("/", links=["/b"], title="Home")
        home.raw("/b", b"HTTP/1.1 200 OK\r\n", Pause(5), Close())
        ...crawl with web.dns as the table of names...
        assert min_gap_s(web.requests) >= 1

`Web` is the server and its lifetime, `Site` one host and what it answers, `Reply` and `Raw` the
answers, `RequestRecord` what the server saw and `traffic_of` what that comes to. `demo_site`
describes a little site to crawl, `GraphWeb` a web of any size that knows what a crawl must find.
`crawl_into` crawls such a web, and `Crawled` is all that came of it. `TcpProxy` stands between a
client and any server, and cuts, holds or delays what passes.
"""

from gossamer.testing.crawled import Crawled, Witness, crawl_into, read_urls
from gossamer.testing.demo import demo_site
from gossamer.testing.graph import GraphWeb
from gossamer.testing.records import RequestRecord, min_gap_s
from gossamer.testing.replies import Close, KeepOpen, Pause, Raw, Repeat, Reply, Reset, Step
from gossamer.testing.site import Site
from gossamer.testing.tcp_proxy import TcpProxy
from gossamer.testing.traffic import Traffic, most_at_once, traffic_of
from gossamer.testing.web import Web

__all__ = [
    "Close",
    "Crawled",
    "GraphWeb",
    "KeepOpen",
    "Pause",
    "Raw",
    "Repeat",
    "Reply",
    "RequestRecord",
    "Reset",
    "Site",
    "Step",
    "TcpProxy",
    "Traffic",
    "Web",
    "Witness",
    "crawl_into",
    "demo_site",
    "min_gap_s",
    "most_at_once",
    "read_urls",
    "traffic_of",
]
