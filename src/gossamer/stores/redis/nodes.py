"""Connections to the server that holds a crawl: in a cluster, the node with its hash slot.

A node that does not hold a key names the one that does, and any node knows all others, so that the
node whose address was given may die later on. A step names one key, which never exists: so while
its slot is moved to another node, both refuse the step, and it is asked for again until the move is
complete.
"""

from typing import Any

import msgspec
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gossamer.stores.redis.address import RedisAddress

MOST_STEPS = 5
CONNECT_S = 5.0


def connect(address: RedisAddress, **more: object) -> Redis:
    """Return a client for single commands; it connects when it is first used."""
    return Redis.from_url(address.url(), **_settings() | more)


def connection_to(address: RedisAddress) -> AbstractConnection:
    """Return a single connection, not yet open."""
    pool = ConnectionPool.from_url(address.url(), **_settings())
    connection: AbstractConnection = pool.make_connection()  # type: ignore[no-untyped-call]
    return connection


def _settings() -> dict[str, Any]:
    return {
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": CONNECT_S,
        "socket_timeout": None,  # callers set deadlines
        "protocol": 2,  # servers that are too old know no other
    }


class Nodes:
    """The servers that are known, at first the one whose address was given."""

    def __init__(self, address: RedisAddress) -> None:
        self._known = [address]

    async def find(self, name: str) -> RedisAddress:
        """Return the server that holds a key; raise the error of the last one if none answers."""
        trouble: Exception | None = None
        for address in [*self._known]:
            try:
                found, others = await _follow(address, name)
            except (exceptions.RedisError, OSError) as error:
                trouble = error
                self._known.remove(address)  # the next time it is asked last
                self._known.append(address)
                continue
            self._known += [one for one in others if one not in self._known]
            return found
        raise trouble or exceptions.ConnectionError("no server is known")

    async def connection(self, name: str) -> AbstractConnection:
        """Return a connection, not yet open, to the server that holds a key."""
        return connection_to(await self.find(name))


async def _follow(address: RedisAddress, name: str) -> tuple[RedisAddress, list[RedisAddress]]:
    """Follow servers, each of which may name the next; return the last, and all of its cluster."""
    for _ in range(MOST_STEPS):
        client = connect(address)
        try:
            await client.exists(name)
        except exceptions.MovedError as moved:
            host = moved.host or address.host  # a node that does not know its name leaves it out
            address = msgspec.structs.replace(address, host=host, port=moved.port)
        except exceptions.AskError:
            return address, [address]
        else:
            return address, [address, *await _others(client, address)]
        finally:
            await client.aclose()
    raise exceptions.ConnectionError("the nodes of the cluster do not agree who holds the crawl")


async def _others(client: Redis, address: RedisAddress) -> list[RedisAddress]:
    """Return the nodes of the cluster; none if it is no cluster, or does not tell."""
    try:
        told: Any = await client.execute_command(  # type: ignore[no-untyped-call]
            "CLUSTER", "SLOTS"
        )
    except exceptions.ResponseError:
        return []
    named = {(node[0], node[1]) for row in told for node in row[2:] if node[0]}
    return [
        msgspec.structs.replace(address, host=host.decode(), port=port)
        for host, port in sorted(named)
    ]
