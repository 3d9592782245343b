"""Crawls to read: one that has ended, in a file and in Redis, and copies of it to damage."""

import asyncio
import secrets
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from crawled import crawl_into
from tests.unit.views.reading import in_directory, in_redis

from gossamer.coordinator.api import crawl
from gossamer.modules.builtin import Save
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Changes
from gossamer.testing import Reply, Web

SEED = "http://a.test/"
KEPT = {
    "max_pages": 100,
    "max_bytes": 1_000_000,
    "max_page_bytes": 1000,
    "revisit_s": 3600.0,
    "queues": 10,
    "url_queue": 10_000,
    "similarity": 0.9,
    "module": ["save"],
}
"""The options in the note that is kept with it."""


def describe(web: Web) -> None:
    """Describe a site with one of everything."""
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /secret\n")
    site.page("/", ["/1", "/2", "/same", "/old", "/missing", "/secret", "http://b.test/"])
    site.page("/1", ["/2", "/deep", "/flaky"], text="one")
    site.page("/2", ["/", "/1"], title="two")
    site.page("/same", ["/", "/1"], title="two")
    site.redirect("/old", "/new")
    site.page("/new", ["/x", "/y"])
    site.page("/x", text="x")
    site.page("/y", text="y")
    site.reply("/flaky", Reply(status=503), Reply(body="<p>at last"))
    site.page("/deep", ["/deeper"])
    site.page("/deeper", ["/deepest"])
    site.page("/deepest", ["/never"])


def keep_options(directory: Path, **options: object) -> None:
    """Put options into the note that is kept with a crawl."""
    with closing(sqlite3.connect(directory / "crawl.sqlite")) as db, db:
        (note,) = db.execute("SELECT value FROM notes WHERE name = 'options'").fetchone()
        kept = {**msgspec.json.decode(note), **options}
        db.execute(
            "UPDATE notes SET value = ? WHERE name = 'options'", (msgspec.json.encode(kept),)
        )


@pytest.fixture(scope="session")
def finished_crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a crawl that has ended; not to be changed."""
    directory = tmp_path_factory.mktemp("crawls") / "finished"
    with Web() as web:
        describe(web)
        crawled = asyncio.run(
            crawl_into(directory, web, SEED, modules=[Save()], depth=3, similarity="0.9")
        )
    assert crawled.summary.ended_by == "complete"
    assert crawled.outcome("http://a.test/flaky") == "fetched"
    keep_options(directory, **KEPT)
    return directory


@pytest.fixture(scope="session")
def finished_in_redis(redis_url: str) -> ReadRequest:
    """The same crawl in Redis."""
    name = f"finished-{secrets.token_hex(4)}"

    async def make() -> None:
        with Web() as web:
            describe(web)
            host, port = web.address
            summary = await crawl(
                SEED,
                store=redis_url,
                name=name,
                depth=3,
                delay="0s",
                queues=10,
                allow_network=[f"{host}:{port}"],
                dns=web.dns,
            )
        assert summary.ended_by == "complete"

    asyncio.run(make())
    with closing(RedisRows(parse_address(redis_url), name)) as rows:
        rows.take_lead()
        kept, changes = msgspec.json.decode(rows.metadata()["options"]), Changes()
        changes.metadata["options"] = msgspec.json.encode({**kept, **KEPT})
        finish = rows.write(changes)
        assert finish is not None
        finish()
    return in_redis(redis_url, name)


@pytest.fixture(params=["sqlite", "redis"])
def finished(request: pytest.FixtureRequest, finished_crawl: Path) -> ReadRequest:
    """That crawl in either store."""
    if request.param == "sqlite":
        return in_directory(finished_crawl)
    moved: ReadRequest = request.getfixturevalue("finished_in_redis")
    return moved


@pytest.fixture
def keep() -> Callable[..., None]:
    """Put options into the note that is kept with a crawl."""
    return keep_options


@pytest.fixture
def directory(finished_crawl: Path, tmp_path: Path) -> Path:
    """A copy of that crawl, to do with as one likes."""
    return Path(shutil.copytree(finished_crawl, tmp_path / "crawl"))


@pytest.fixture
def damage(directory: Path) -> Callable[[str], None]:
    """Run SQL on the copy."""

    def run(script: str) -> None:
        with closing(sqlite3.connect(directory / "crawl.sqlite")) as db:
            db.executescript(script)

    return run
