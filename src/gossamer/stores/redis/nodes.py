"""Connections to the server that holds a crawl.

Where Sentinels elect it, they are asked for it before every connection. In a cluster it is the node
with the crawl's hash slot.

A node that does not hold a key names the one that does, and any node knows all others, so that the
node whose address was given may die later on. A step names one key, which never exists: so while
its slot is moved to another node, both refuse the step, and it is asked for again until the move is
complete.
"""

import asyncio
from typing import Any

import msgspec
from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gossamer.stores.redis.address import RedisAddress, Sentinels

MOST_STEPS = 5
CONNECT_S = 5.0
ANSWER_S = 30.0
"""How long the server may take for the answers of one round trip."""
SENTINEL_S = 2.0
"""How long a Sentinel may take for its answer: another one knows the same."""


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


async def locate(address: RedisAddress) -> RedisAddress:
    """Return the server itself: the primary, where the address is that of Sentinels."""
    if address.sentinels is None:
        return address
    host, port = await _find_primary(address.sentinels, tls=address.tls)
    return msgspec.structs.replace(address, host=host, port=port, sentinels=None)


async def _find_primary(sentinels: Sentinels, *, tls: bool) -> tuple[str, int]:
    """Return where the primary is; raise the error of the first Sentinel if none knows."""
    trouble: Exception | None = None
    for host, port in sentinels.places:
        one = RedisAddress(
            host=host, port=port, user=sentinels.user, password=sentinels.password, tls=tls
        )
        try:
            async with asyncio.timeout(SENTINEL_S), connect(one, decode_responses=True) as client:
                return await _ask_sentinel(client, sentinels.service)
        except (exceptions.RedisError, OSError) as error:
            trouble = trouble or error
    assert trouble is not None, "an address names at least one Sentinel"
    raise trouble


async def _ask_sentinel(client: Redis, service: str) -> tuple[str, int]:
    """Return where the primary is, unless this Sentinel takes it for dead.

    One that is cut off from the others would go on to name the primary of old.
    """
    try:
        state: Any = await client.sentinel_master(service, return_responses=True)
    except exceptions.AuthenticationError as error:
        raise exceptions.ConnectionError(
            "a Sentinel wants another password: give theirs as ?sentinel_password=…"
        ) from error
    except exceptions.ResponseError as error:
        raise exceptions.ConnectionError(f"a Sentinel does not know {service}: {error}") from error
    if state["is_sdown"] or state["is_odown"] or not state["is_master"]:
        raise exceptions.ConnectionError(f"the primary {service} is down, and no other leads yet")
    return str(state["ip"]), int(state["port"])


class Nodes:
    """The servers that are known, at first the one whose address was given."""

    def __init__(self, address: RedisAddress) -> None:
        self._known = [address]

    async def find(self, name: str) -> RedisAddress:
        """Return the server that holds a key; raise the error of the last one if none answers."""
        trouble: Exception | None = None
        for address in [*self._known]:
            try:
                found, others = await _follow(await locate(address), name)
            except (exceptions.RedisError, OSError) as error:
                trouble = error
                self._known.remove(address)  # the next time it is asked last
                self._known.append(address)
                continue
            if address.sentinels is None:  # else they alone know who leads
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
