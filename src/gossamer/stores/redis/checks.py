"""The checks that tell whether a server can be trusted with a crawl, before the first URL is added.

A crawl runs for days; what its server would do to it on the third day is known on the first. Each
finding says what is wrong, what that costs in numbers, and what to do. `judge` is pure: what it
needs to know is in `ServerFacts`, which `probe` gathers.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress

OLDEST = (7, 0, 0)
"""The first version that keeps function libraries."""
FULL, NEARLY_FULL = 0.90, 0.75
"""How much of maxmemory may be in use: beyond the first no crawl starts."""
EVERYSEC_LOSS_S = 2
"""An fsync may be put off once while the last one is still running."""
KERNEL_LOSS_S = 35
"""When Linux writes by itself: every 5 s those pages that are older than 30 s."""


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself; None where it does not say."""

    product: str = "Redis"
    version: tuple[int, ...] = OLDEST
    loading: bool = False
    loading_left_s: int | None = None
    is_replica: bool = False
    aof: bool = True
    aof_broken: bool = False
    """The last write to the AOF failed: the server takes no writes."""
    fsync: str | None = None
    """The setting `appendfsync`."""
    fsync_on_rewrite: bool | None = None
    """False: `no-appendfsync-on-rewrite` is on."""
    save_s: tuple[int, ...] | None = None
    """The intervals of the setting `save`, in seconds."""
    eviction: str = "noeviction"
    used_bytes: int = 0
    max_bytes: int = 0
    """The setting `maxmemory`; 0 is no limit."""


class ServerFinding(msgspec.Struct, frozen=True):
    """One thing about a server that is not as it should be."""

    severity: Literal["refuse", "warn"]
    what: str
    why: str
    """What it costs."""
    remedy: str
    passing: bool = False
    """It may pass in a moment: worth waiting for."""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}; {self.remedy}"


_refuse, _warn = partial(ServerFinding, "refuse"), partial(ServerFinding, "warn")


def judge(
    facts: ServerFacts, address: RedisAddress, *, allow_insecure: bool = False
) -> list[ServerFinding]:
    """Return everything that speaks against keeping a crawl there, reasons to refuse it first."""
    if facts.loading:  # whatever else it says now may change when it is done
        return [_loading(facts)]
    if facts.version < OLDEST:  # whatever else is wrong with it does not matter
        return [_too_old(facts)]
    findings = [
        *_server(facts),
        *_durability(facts),
        *_access(address, allow_insecure=allow_insecure),
    ]
    return sorted(findings, key=lambda one: one.severity != "refuse")


def require(findings: Sequence[ServerFinding], address: RedisAddress) -> list[ServerFinding]:
    """Return the warnings; a CrawlError names all reasons to refuse the crawl."""
    refusals = [str(one) for one in findings if one.severity == "refuse"]
    if refusals:
        raise CrawlError(f"the store {address} cannot be used: {'. Also: '.join(refusals)}")
    return list(findings)


def _loading(facts: ServerFacts) -> ServerFinding:
    left = "" if facts.loading_left_s is None else f", about {facts.loading_left_s} s to go"
    return _refuse(
        f"the server is still loading its data{left}",
        "until then it answers nothing",
        "wait until it is done",
        passing=True,
    )


def _too_old(facts: ServerFacts) -> ServerFinding:
    oldest = _dotted(OLDEST[:2])
    return _refuse(
        f"{facts.product} {_dotted(facts.version)} is too old",
        f"a crawl needs functions on the server, which came with Redis {oldest}",
        f"upgrade to Redis {oldest} or later, or to any Valkey",
    )


def _server(facts: ServerFacts) -> Iterator[ServerFinding]:
    if facts.is_replica:
        yield _refuse(
            "the server is a replica",
            "it refuses what is written to it, or loses it",
            "give the address of its primary",
            passing=True,
        )
    if facts.eviction != "noeviction":
        yield _refuse(
            f"maxmemory-policy is {facts.eviction}",
            "when its memory is full, the server silently deletes URLs and pages of the crawl",
            "CONFIG SET maxmemory-policy noeviction",
        )
    share = facts.used_bytes / facts.max_bytes if facts.max_bytes else 0
    if share > NEARLY_FULL:
        left = facts.max_bytes - facts.used_bytes
        yield ServerFinding(
            "refuse" if share > FULL else "warn",
            f"{share:.0%} of maxmemory is in use",
            f"{max(left, 0) / 1e6:,.0f} MB are left; when they are used up, the crawl stops",
            "raise maxmemory, or delete crawls that are no longer needed",
        )


def _durability(facts: ServerFacts) -> Iterator[ServerFinding]:
    if not facts.aof:
        yield _warn(
            "the append-only file is off",
            f"a restart of the server loses {_loss_without_aof(facts)}, to be fetched again",
            "CONFIG SET appendonly yes, and set it in the configuration file",
        )
    elif facts.aof_broken:
        yield _refuse(
            "the last write to the append-only file failed",
            "the server refuses all writes until one succeeds",
            "check its log and the space on its disk",
            passing=True,
        )
    else:
        yield from _flushing(facts)


def _flushing(facts: ServerFacts) -> Iterator[ServerFinding]:
    if facts.fsync is None:
        yield _warn(
            "appendfsync could not be checked, as CONFIG is not allowed",
            f"a power failure costs 0 s of work with always, {EVERYSEC_LOSS_S} s with everysec,"
            f" about {KERNEL_LOSS_S} s with no",
            "ask whoever runs the server, or allow CONFIG GET",
        )
    elif facts.fsync not in {"everysec", "always"}:
        yield _warn(
            f"appendfsync is {facts.fsync}",
            f"a power failure costs about the last {KERNEL_LOSS_S} s of work, to be done again",
            f"CONFIG SET appendfsync everysec, which loses at most {EVERYSEC_LOSS_S} s",
        )
    elif facts.fsync_on_rewrite is False:
        yield _warn(
            "no-appendfsync-on-rewrite is on",
            f"a power failure during a rewrite costs about the last {KERNEL_LOSS_S} s of work",
            "CONFIG SET no-appendfsync-on-rewrite no",
        )


def _loss_without_aof(facts: ServerFacts) -> str:
    if facts.save_s is None:
        return "everything since its last snapshot (how often it makes one could not be checked)"
    if not facts.save_s:
        return "the whole crawl, as there are no snapshots either"
    return f"up to the last {max(facts.save_s)} s of work, since the last snapshot"


def _access(address: RedisAddress, *, allow_insecure: bool) -> Iterator[ServerFinding]:
    if address.is_local:
        return
    if address.password is None:
        yield ServerFinding(
            "warn" if allow_insecure else "refuse",
            f"{address.host} is another machine and asks for no password",
            "anyone who reaches its port can read, change and delete the crawl",
            "set a password and use TLS (rediss://)"
            + ("" if allow_insecure else ", or accept the risk with --insecure-store"),
        )
    elif not address.tls:
        yield _warn(
            f"the connection to {address.host} is not encrypted",
            "the password and every page can be read on the way",
            "use TLS (rediss://), or a network that nobody else uses",
        )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
