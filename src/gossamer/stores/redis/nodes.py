"""Finding the server that holds a key: of a cluster, the node to which its hash slot belongs.

Any node tells by refusing a command which node it is. Scripts name one key, which never exists: so
while a slot is moved to another node they are refused by both, and asked again until the move is
complete.
"""

import msgspec
from redis import exceptions
from redis.asyncio.connection import AbstractConnection

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.client import connect, connection_to

MOST_STEPS = 5


class Nodes:
    """The servers that are known, at first the one whose address was given."""

    def __init__(self, address: RedisAddress) -> None:
        self._known = [address]

    def __repr__(self) -> str:
        return f"<Nodes: {', '.join(map(str, self._known))}>"

    @property
    def first(self) -> RedisAddress:
        """The server whose address was given."""
        return self._known[0]

    async def find(self, name: str) -> RedisAddress:
        """Return the server that holds a key of that name; raises what the last one asked does."""
        trouble: Exception | None = None
        for address in [*self._known]:
            try:
                found = await _follow(address, name)
            except (exceptions.RedisError, OSError) as error:
                trouble = error
                continue
            if found not in self._known:
                self._known.append(found)
            return found
        raise trouble or exceptions.ConnectionError("no server is known")

    async def connection(self, name: str) -> AbstractConnection:
        """Return a connection, not yet open, to the server that holds a key."""
        return connection_to(await self.find(name))


async def _follow(address: RedisAddress, name: str) -> RedisAddress:
    """Ask servers, each of which may name another."""
    for _ in range(MOST_STEPS):
        client = connect(address)
        try:
            await client.exists(name)
        except exceptions.MovedError as moved:
            host = moved.host or address.host  # a node that does not know its name leaves it out
            address = msgspec.structs.replace(address, host=host, port=moved.port)
        except exceptions.AskError:
            return address
        else:
            return address
        finally:
            await client.aclose()
    raise exceptions.ConnectionError("the nodes of the cluster do not agree who holds the crawl")
