"""The probe of a server: asks it what it is, and has the answers judged.

It uses a connection of its own that does not try again: a wrong address is reported at once, and a
silent server after a few seconds.
"""

import asyncio
import re
from collections.abc import Mapping

from redis import exceptions
from redis.asyncio import Redis

from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.checks import ServerFacts, ServerFinding, judge
from gossamer.stores.redis.no_answer import explain
from gossamer.stores.redis.nodes import connect, locate

PATIENCE_S = 5.0
"""How long a server may take for its answers, all together."""
SETTINGS = ("appendfsync", "no-appendfsync-on-rewrite", "save")


async def check(
    address: RedisAddress, *, allow_insecure: bool = False, patience_s: float = PATIENCE_S
) -> list[ServerFinding]:
    """Return everything that speaks against the server, or the one reason why it does not answer.

    Never raises, whatever the server is or does.
    """
    try:
        async with asyncio.timeout(patience_s):
            server = await locate(address)
            client = connect(
                server,
                socket_connect_timeout=None,  # one deadline for all
                decode_responses=True,
                encoding_errors="replace",
                single_connection_client=True,
            )
            async with client:
                facts = await gather(client)
    except (exceptions.RedisError, OSError, ValueError) as error:
        return [explain(error, address, patience_s)]
    return judge(facts, server, allow_insecure=allow_insecure)


async def gather(client: Redis) -> ServerFacts:
    """Return all that `judge` needs to know: one INFO, and CONFIG GET where it is allowed."""
    info = await client.info()
    settings: dict[str, str] = {}
    try:
        found = await client.config_get(*SETTINGS)
        settings = {name: str(found[name]) for name in SETTINGS if name in found}
    except exceptions.ResponseError:  # forbidden or renamed away
        pass
    return read_facts({str(key): str(value) for key, value in info.items()}, settings)


def read_facts(info: Mapping[str, str], settings: Mapping[str, str]) -> ServerFacts:
    """Return what INFO and CONFIG GET say; a ValueError means that it is not a Redis."""
    is_valkey = info.get("server_name") == "valkey"
    version = info.get("valkey_version" if is_valkey else "redis_version", "")
    rewrite = settings.get("no-appendfsync-on-rewrite")
    save = settings.get("save")
    if not re.match(r"\d+\.\d+", version):
        raise ValueError("INFO names no version")
    return ServerFacts(
        product="Valkey" if is_valkey else "Redis",
        version=tuple(int(part) for part in re.findall(r"\d+", version)[:3]),
        loading=_number(info, "loading") == 1,
        loading_left_s=_number(info, "loading_eta_seconds"),
        is_replica=info.get("role", "master") != "master",
        aof=_number(info, "aof_enabled") == 1,
        aof_broken=info.get("aof_last_write_status", "ok") != "ok",
        fsync=settings.get("appendfsync"),
        fsync_on_rewrite=None if rewrite is None else rewrite == "no",
        # Pairs of seconds and changes.
        save_s=None if save is None else tuple(int(one) for one in save.split()[::2]),
        eviction=info.get("maxmemory_policy", "noeviction"),
        used_bytes=_number(info, "used_memory") or 0,
        max_bytes=_number(info, "maxmemory") or 0,
    )


def _number(info: Mapping[str, str], key: str) -> int | None:
    text = info.get(key, "")
    return int(text) if text.isdecimal() else None
