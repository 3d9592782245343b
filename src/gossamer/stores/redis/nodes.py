"""The server that holds a crawl, and how it is connected to.

Where Sentinels elect it, they are asked for it before every connection. In a cluster it is the node
with the crawl's hash slot: a node that does not hold a key names the one that does, and any node
knows all others, so that the node whose address was given may die later on.
"""

from typing import Any

import msgspec
from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

from gossamer.stores.redis.address import RedisAddress, Sentinels

MOST_STEPS = 5
CONNECT_S = 5.0
"""How long a server may take for its first answers."""
ANSWER_S = 30.0
"""How long the server may take for the answers of one round trip."""
SENTINEL_S = 2.0
"""How long a Sentinel may take for its answer: another one knows the same."""


def settings(answer_s: float = ANSWER_S) -> dict[str, Any]:
    """Return how every connection is made: nothing is tried again behind our back."""
    return {
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": min(CONNECT_S, answer_s),
        "socket_timeout": answer_s,
        "protocol": 2,  # servers that are too old know no other
    }


def connect(address: RedisAddress, answer_s: float = CONNECT_S) -> Redis:
    """Return a client for the first commands to a server; it connects when it is first used."""
    text = {"decode_responses": True, "encoding_errors": "replace"}
    return Redis.from_url(address.url(), **settings(answer_s), **text)


class Nodes:
    """The servers that are known, at first the one whose address was given."""

    def __init__(self, address: RedisAddress) -> None:
        self._known = [address]

    def find(self, name: str) -> RedisAddress:
        """Return the server that holds a key; raise the error of the last one if none answers."""
        trouble: Exception | None = None
        for address in [*self._known]:
            try:
                node, others = _follow(locate(address), name)
            except (exceptions.RedisError, OSError) as error:
                trouble = error
                self._known.remove(address)  # the next time it is asked last
                self._known.append(address)
                continue
            if address.sentinels is None:  # else they alone know who leads
                self._known += [other for other in others if other not in self._known]
            return node
        raise trouble or exceptions.ConnectionError("no server is known")


def locate(address: RedisAddress) -> RedisAddress:
    """Return the server itself: the primary, where the address is that of Sentinels."""
    if address.sentinels is None:
        return address
    host, port = _find_primary(address.sentinels, tls=address.tls)
    return msgspec.structs.replace(address, host=host, port=port, sentinels=None)


def _find_primary(sentinels: Sentinels, *, tls: bool) -> tuple[str, int]:
    """Return where the primary is; raise the error of the first Sentinel if none knows."""
    trouble: Exception | None = None
    user, password = sentinels.user, sentinels.password
    for host, port in sentinels.places:
        sentinel = RedisAddress(host=host, port=port, user=user, password=password, tls=tls)
        try:
            with connect(sentinel, SENTINEL_S) as client:
                return _ask_sentinel(client, sentinels.service)
        except (exceptions.RedisError, OSError) as error:
            trouble = trouble or error
    assert trouble is not None, "an address names at least one Sentinel"
    raise trouble


def _ask_sentinel(client: Redis, service: str) -> tuple[str, int]:
    """Return where the primary is, unless this Sentinel takes it for dead.

    One that is cut off from the others would go on to name the primary of old.
    """
    try:
        state: Any = client.sentinel_master(service, return_responses=True)
    except exceptions.AuthenticationError as error:
        raise exceptions.ConnectionError(
            "a Sentinel wants another password: give theirs as ?sentinel_password=…"
        ) from error
    except exceptions.ResponseError as error:
        raise exceptions.ConnectionError(f"a Sentinel does not know {service}: {error}") from error
    if state["is_sdown"] or state["is_odown"] or not state["is_master"]:
        raise exceptions.ConnectionError(f"the primary {service} is down, and no other leads yet")
    return str(state["ip"]), int(state["port"])


def _follow(address: RedisAddress, name: str) -> tuple[RedisAddress, list[RedisAddress]]:
    """Follow servers, each of which may name the next; return the last, and all of its cluster.

    While a slot is moved, both nodes refuse the name of a key that is not there.
    """
    for _ in range(MOST_STEPS):
        with connect(address) as client:
            try:
                client.exists(name)
            except exceptions.MovedError as moved:
                host = (
                    moved.host or address.host
                )  # a node that does not know its name leaves it out
                address = msgspec.structs.replace(address, host=host, port=moved.port)
            except exceptions.AskError:
                return address, [address]
            else:
                return address, [address, *_others(client, address)]
    raise exceptions.ConnectionError("the nodes of the cluster do not agree who holds the crawl")


def _others(client: Redis, address: RedisAddress) -> list[RedisAddress]:
    """Return the nodes of the cluster; none if it is no cluster, or does not tell."""
    try:
        slots: Any = client.execute_command("CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
    except exceptions.ResponseError:
        return []
    places = {(node[0], node[1]) for row in slots for node in row[2:] if node[0]}
    return [msgspec.structs.replace(address, host=host, port=port) for host, port in sorted(places)]
