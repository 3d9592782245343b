"""The downloader: a URL in, a `Response` out, whatever the server does.

`Client` passes each URL to libcurl as a `Transfer`, on the lane (`lanes`) of the settings that its
origin has (`request_settings`). `lookups` finds the addresses of its host. Before a socket opens,
`policy.addresses` checks its address, and `address_slots` whether that has too much to do already;
when the header is complete, `verdict` decides about the body; `body` decodes within the limits;
`watchdog` cancels transfers of silent servers; `curl_errors` translates libcurl's errors.
`RobotsCache` fetches each robots.txt once a day.
"""

from gossamer.download.address_locks import AddressLocks
from gossamer.download.address_slots import AddressBusyError
from gossamer.download.allowance import Allowance
from gossamer.download.client import Client
from gossamer.download.cookies import RequestCookies
from gossamer.download.options import PRODUCT, Accept, FetchOptions, user_agent
from gossamer.download.robots import RobotsCache

__all__ = [
    "PRODUCT",
    "Accept",
    "AddressBusyError",
    "AddressLocks",
    "Allowance",
    "Client",
    "FetchOptions",
    "RequestCookies",
    "RobotsCache",
    "user_agent",
]
