"""Connections to a Redis as the store uses them: without retries of their own, without decoding."""

from typing import Any

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gossamer.stores.redis.address import RedisAddress

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
