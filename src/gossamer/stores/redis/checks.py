"""The checks that tell whether a server can be trusted with a crawl, before the first URL is added.

A crawl runs for days; what its server would do to it on the third day is known on the first. Each
finding says what is wrong, what that costs in numbers, and what to do. `judge` is pure: it takes
what the server says to INFO, and to CONFIG GET where that is allowed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from redis import exceptions

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import CONNECT_S, ServerFinding, connect, explain, locate
from gossamer.stores.rows import StoreAwayError

OLDEST: Final = {"Redis": (7, 0), "Valkey": (7, 2)}
"""The first versions that have all commands, such as BLMPOP."""
FULL, NEARLY_FULL = 0.90, 0.75
"""How much of maxmemory may be in use: beyond the first no crawl starts."""
EVERYSEC_LOSS_S: Final = 2
"""An fsync may be put off once while the last one is still running."""
KERNEL_LOSS_S: Final = 35
"""When Linux writes by itself: every 5 s those pages that are older than 30 s."""
SETTINGS: Final = ("appendfsync", "no-appendfsync-on-rewrite", "save")

_refuse, _warn = partial(ServerFinding, "refuse"), partial(ServerFinding, "warn")


def check(
    address: RedisAddress, *, allow_insecure: bool = False, patience_s: float = CONNECT_S
) -> list[ServerFinding]:
    """Return everything that speaks against the server, or the one reason why it does not answer.

    Nothing is tried again: a wrong address is reported at once, a silent server after a while.
    """
    try:
        server = locate(address)
        with connect(server, patience_s) as client:
            info = {str(name): str(value) for name, value in client.info().items()}
            try:
                settings = client.config_get(*SETTINGS)
            except exceptions.ResponseError:  # forbidden or renamed away
                settings = {}
        return judge(info, settings, server, allow_insecure=allow_insecure)
    except (exceptions.RedisError, OSError, ValueError) as error:
        return [explain(error, address, patience_s)]


def require(findings: Sequence[ServerFinding], address: RedisAddress) -> list[ServerFinding]:
    """Return the warnings; a CrawlError names all reasons to refuse the crawl.

    It is a StoreAwayError if they may pass.
    """
    refusals = [finding for finding in findings if finding.severity == "refuse"]
    if not refusals:
        return list(findings)
    reasons = ". Also: ".join(map(str, refusals))
    message = f"the store {address} cannot be used: {reasons}"
    if all(finding.passing for finding in refusals):
        raise StoreAwayError(message, refusals[0].what)
    raise CrawlError(message)


def judge(
    info: Mapping[str, str],
    settings: Mapping[str, str],
    address: RedisAddress,
    *,
    allow_insecure: bool = False,
) -> list[ServerFinding]:
    """Return everything that speaks against keeping a crawl there, reasons to refuse it first.

    A ValueError means that it is not a Redis.
    """
    too_old = [*_version(info)]
    if _number(info, "loading"):  # whatever else it says now may change when it is done
        return [_loading(info)]
    if too_old:  # whatever else is wrong with it does not matter
        return too_old
    findings = [
        *_role(info),
        *_memory(info),
        *_durability(info, settings),
        *_access(address, allow_insecure=allow_insecure),
    ]
    return sorted(findings, key=lambda finding: finding.severity != "refuse")


def _version(info: Mapping[str, str]) -> Iterator[ServerFinding]:
    product = "Valkey" if info.get("server_name") == "valkey" else "Redis"
    version = info.get(f"{product.lower()}_version", "")
    if not re.match(r"\d+\.\d+", version):
        raise ValueError("INFO names no version")
    oldest = OLDEST[product]
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < oldest:
        needed = f"{product} {oldest[0]}.{oldest[1]}"
        yield _refuse(
            f"{product} {version} is too old",
            f"a crawl needs commands that came with {needed}",
            f"upgrade to {needed} or later",
        )


def _loading(info: Mapping[str, str]) -> ServerFinding:
    left_s = _number(info, "loading_eta_seconds")
    return _refuse(
        "the server is still loading its data" + (f", about {left_s} s to go" if left_s else ""),
        "until then it answers nothing",
        "wait until it is done",
        passing=True,
    )


def _role(info: Mapping[str, str]) -> Iterator[ServerFinding]:
    if info.get("role", "master") != "master":
        yield _refuse(
            "the server is a replica",
            "it refuses what is written to it, or loses it",
            "give the address of its primary",
            passing=True,
        )


def _memory(info: Mapping[str, str]) -> Iterator[ServerFinding]:
    eviction = info.get("maxmemory_policy", "noeviction")
    if eviction != "noeviction":
        yield _refuse(
            f"maxmemory-policy is {eviction}",
            "when its memory is full, the server silently deletes URLs and pages of the crawl",
            "CONFIG SET maxmemory-policy noeviction",
        )
    used, most = _number(info, "used_memory"), _number(info, "maxmemory")
    share = used / most if most else 0
    if share > NEARLY_FULL:
        yield ServerFinding(
            "refuse" if share > FULL else "warn",
            f"{share:.0%} of maxmemory is in use",
            f"{max(most - used, 0) / 1e6:,.0f} MB are left; when they are used up, the crawl stops",
            "raise maxmemory, or delete crawls that are no longer needed",
        )


def _durability(info: Mapping[str, str], settings: Mapping[str, str]) -> Iterator[ServerFinding]:
    fsync = settings.get("appendfsync")
    if not _number(info, "aof_enabled"):
        yield _warn(
            "the append-only file is off",
            f"a restart of the server loses {_loss_without_aof(settings)}, to be fetched again",
            "CONFIG SET appendonly yes, and set it in the configuration file",
        )
    elif info.get("aof_last_write_status", "ok") != "ok":
        yield _refuse(
            "the last write to the append-only file failed",
            "the server refuses all writes until one succeeds",
            "check its log and the space on its disk",
            passing=True,
        )
    elif fsync is None:
        yield _warn(
            "appendfsync could not be checked, as CONFIG is not allowed",
            f"a power failure costs 0 s of work with always, {EVERYSEC_LOSS_S} s with everysec,"
            f" about {KERNEL_LOSS_S} s with no",
            "ask whoever runs the server, or allow CONFIG GET",
        )
    elif fsync not in {"everysec", "always"}:
        yield _warn(
            f"appendfsync is {fsync}",
            f"a power failure costs about the last {KERNEL_LOSS_S} s of work, to be done again",
            f"CONFIG SET appendfsync everysec, which loses at most {EVERYSEC_LOSS_S} s",
        )
    elif settings.get("no-appendfsync-on-rewrite", "no") != "no":
        yield _warn(
            "no-appendfsync-on-rewrite is on",
            f"a power failure during a rewrite costs about the last {KERNEL_LOSS_S} s of work",
            "CONFIG SET no-appendfsync-on-rewrite no",
        )


def _loss_without_aof(settings: Mapping[str, str]) -> str:
    if "save" not in settings:
        return "everything since its last snapshot (how often it makes one could not be checked)"
    intervals_s = [int(word) for word in settings["save"].split()[::2]]  # between them: changes
    if not intervals_s:
        return "the whole crawl, as there are no snapshots either"
    return f"up to the last {max(intervals_s)} s of work, since the last snapshot"


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


def _number(info: Mapping[str, str], key: str) -> int:
    text = info.get(key, "")
    return int(text) if text.isdecimal() else 0
