"""The network and nothing else: a URL in, a `Response` out, whatever the server does.

`Client` hands each URL to libcurl as a `Transfer`. Before a socket opens, `policy.addresses` judges
its address; when the header is complete, `verdict` decides about the body; `body` decodes within
the limits; `watchdog` ends what keeps silent. What libcurl reports, `curl_errors` translates.
`RobotsCache` fetches each robots.txt once a day.
"""

from gossamer.download.client import Client
from gossamer.download.identity import PRODUCT, user_agent
from gossamer.download.names import NameTable
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.robots import RobotsCache

__all__ = [
    "PRODUCT",
    "Accept",
    "Client",
    "FetchOptions",
    "NameTable",
    "RobotsCache",
    "user_agent",
]
