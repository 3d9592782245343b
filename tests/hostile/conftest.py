"""One crawl of all hostile hosts for each store, shared by the tests of all processes."""

import asyncio
import fcntl
import secrets
import time
from pathlib import Path

import msgspec
import pytest
from tests.hostile.catalogue import CATALOGUE
from tests.webs.tls_web import ALL_FAULTS, serve

from gossamer.config import load
from gossamer.coordinator.api import crawl
from gossamer.stores.crawl_views import ReadRequest
from gossamer.testing.simulator import ServedWeb, SimulatedWeb
from gossamer.views.crawls import list_urls, open_crawl
from gossamer.views.verify import verify


class HostileCrawlResult(msgspec.Struct, frozen=True):
    """What came of the crawl of all hostile hosts."""

    outcomes: dict[str, str | None]
    """How each URL ended; None if it did not, or was too deep."""
    honest: list[str]
    """The pages of the honest hosts beside them."""
    broken: list[str]
    """The promises of the store that do not hold."""
    origins: dict[str, str]
    """The scheme and name of the host of each fault."""
    reasons: dict[str, str]
    """Why URLs ended as they did."""
    asked: list[str]
    """The hosts that got a request."""
    ended_by: str
    took_s: float


@pytest.fixture(scope="session", params=["sqlite", "redis"])
def crawled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> HostileCrawlResult:
    """Crawl all of them once, whichever process comes first; another has the other store then."""
    base = tmp_path_factory.getbasetemp()
    folder = base if worker_id == "master" else base.parent
    own, other = (
        folder / f"hostile-{store}.json"
        for store in sorted(["sqlite", "redis"], key=lambda store: store != request.param)
    )

    def crawl_once(kept: Path, *, waits: bool) -> bool:
        """Have the result of a crawl; return False if another process is at it."""
        with kept.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            if not kept.exists():
                store = request.getfixturevalue("redis_url") if "redis" in kept.name else ""
                found = asyncio.run(_crawl(tmp_path_factory.mktemp("hostile"), store))
                kept.write_bytes(msgspec.json.encode(found))
        return True

    if not crawl_once(own, waits=False):
        crawl_once(other, waits=False)
        crawl_once(own, waits=True)
    return msgspec.json.decode(own.read_bytes(), type=HostileCrawlResult)


async def _crawl(directory: Path, store: str) -> HostileCrawlResult:
    faults = dict.fromkeys(CATALOGUE, 0.0)
    web = SimulatedWeb(hosts=3, pages=40, faults=faults, catalogue=ALL_FAULTS)
    own = {"store": store, "name": secrets.token_hex(4)} if store else {}
    with_http2 = [f"{fault}.test" for fault in CATALOGUE if fault.startswith("h2-")]
    begun = time.monotonic()
    with serve(web) as served:
        served.certificates.write_authority(directory / "ca.pem")
        summary = await crawl(
            *(served.home(label) for label in web.labels),
            dns=served.dns,
            dir=directory / "crawl",
            ca_file=directory / "ca.pem",
            host={host: {"http2": True} for host in with_http2},
            # Or their robots.txt would be all that is asked for.
            ignore_robots=with_http2,
            allow_network=[f"127.0.0.1:{served.port}"],
            **{**IMPATIENT, **own},  # type: ignore[arg-type]
        )
        took_s = time.monotonic() - begun
        request = ReadRequest(
            address=load(own and {"store": store}, {}).options.store,
            name=own.get("name"),
            directory=directory / "crawl",
        )
        return await _read(request, served, summary.ended_by, took_s)


IMPATIENT = {
    "scope": "any",
    "depth": 2,
    "delay": "0s",
    "timeout": "8s",
    "retries": 0,
    "max_page_bytes": "2MB",
    "max_bytes": "1GB",
    "sitemaps": "auto",
    "similarity": "off",
    "cookies": True,
}


async def _read(
    request: ReadRequest, served: ServedWeb, ended_by: str, took_s: float
) -> HostileCrawlResult:
    async with open_crawl(request) as stored:
        listed = [one async for one in list_urls(stored)]
    verified = await verify(request, time.time())
    numbered = [f"h{number}" for number in range(served.web.hosts)]
    return HostileCrawlResult(
        outcomes={one.url: one.outcome for one in listed},
        origins={fault: served.origin(fault) for fault in CATALOGUE},
        reasons={one.url: one.detail for one in listed},
        asked=list(served.requests),
        honest=[url for label in numbered for url in served.honest_urls(label)],
        broken=[one.rule for one in verified.findings if one.broken],
        ended_by=ended_by,
        took_s=took_s,
    )
