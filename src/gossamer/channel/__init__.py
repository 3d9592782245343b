"""The channel between two processes of a crawl: calls of a contract, over a local socket.

A contract is a protocol class with async methods (`Contract`). One end of a `Channel` serves an
object that has those methods; the other calls them through a proxy, as if it had the object itself.
"""

from gossamer.channel.channel import Channel, ChannelClosedError, Served
from gossamer.channel.contract import Contract

__all__ = ["Channel", "ChannelClosedError", "Contract", "Served"]
