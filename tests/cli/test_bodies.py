"""Bodies outside the store: whatever reads a crawl finds them, and what is lost is noticed."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.store import S3Store
from redis_servers import wait_until
from s3_server import BUCKET, s3_server
from tests.cli.conftest import name_crawl

from gossamer.stores.bodies import ENDING, INDEX_ENDING
from gossamer.testing import Web

if TYPE_CHECKING:
    from tests.cli.conftest import Command

PAGES = 5
QUICK = ("--delay", "0s", "--similarity", "1", "--workers", "1")


@pytest.fixture(params=["sqlite", "redis"])
def where(request: pytest.FixtureRequest) -> list[str]:
    """The words that name a crawl in each kind of store."""
    return name_crawl(request)


@pytest.fixture
def seed(web: Web) -> str:
    site = web.site("127.0.0.1")
    site.page("/", links=[f"/{number}" for number in range(1, PAGES)])
    for number in range(1, PAGES):
        site.page(f"/{number}", title=f"page {number}", text=f"the text of page {number} " * 5)
    return f"{web.base_url}/"


def named(where: list[str]) -> list[str]:
    """Return the words that name the crawl to whoever reads it."""
    return where if where[0] == "--store" else [where[1]]


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{ENDING}"))


def is_sound(gossamer: "Command", where: list[str]) -> bool:
    return gossamer("verify", *named(where)).returncode == 0


@pytest.mark.req("D10")
def test_what_is_read_back_is_what_modules_saw(
    gossamer: "Command", seed: str, where: list[str], tmp_path: Path
) -> None:
    words = ["crawl", seed, *where, *QUICK, "--bodies", "bodies", "--module", "save"]
    words += ["--dir", "results"] if where[0] == "--store" else []
    done = gossamer(*words, "-o", "site.warc.gz")
    assert done.returncode == 0, done.stderr
    saved = tmp_path / (where[1] if where[0] == "--dir" else "results") / "pages"
    assert len([*saved.iterdir()]) == PAGES
    body = gossamer("pages", *named(where), "--cat", 2).stdout
    assert (saved / "2").read_text().split("\n", 2)[2] == body
    assert is_sound(gossamer, where)
    archive = gzip.decompress((tmp_path / "site.warc.gz").read_bytes())
    assert archive.count(b"the text of page 3") == 5
    (file,) = segments(tmp_path / "bodies")
    assert file.with_suffix(INDEX_ENDING).exists()


def test_what_is_lost_or_changed_is_noticed(gossamer: "Command", seed: str, tmp_path: Path) -> None:
    words = ["crawl", seed, "--dir", "c", *QUICK, "--bodies", "bodies"]
    assert gossamer(*words, "--max-pages", 3).returncode == 0
    assert gossamer(*words).returncode == 0
    shown = gossamer("replay", "c", "--module", "save")
    assert shown.returncode == 0, shown.stderr
    one, other = segments(tmp_path / "bodies")
    spoilt = bytearray(one.read_bytes())
    spoilt[-1] ^= 1
    one.write_bytes(spoilt)
    other.unlink()
    found = gossamer("verify", "c")
    assert (found.returncode, "bodies: every stored body" in found.stdout) == (1, True)
    assert f"segment {one.stem} has something else in its place" in found.stdout
    assert f"segment {other.name} is not in" in found.stdout


def test_the_store_keeps_no_bodies_and_a_moved_directory_is_found_again(
    gossamer: "Command", web: Web, tmp_path: Path
) -> None:
    site = web.site("127.0.0.1")
    site.page("/", links=["/1"])
    site.page("/1", text=os.urandom(100_000).hex())
    words = ["crawl", f"{web.base_url}/", *QUICK, "--dir", "c"]
    assert gossamer(*words, "--bodies", "one", "--max-pages", 1).returncode == 0
    assert gossamer(*words, "--max-pages", 2).returncode == 2  # its bodies are not in the store
    (tmp_path / "one").rename(tmp_path / "two")
    moved = gossamer("resume", "c", "--bodies", "two", "--max-pages", 2)
    assert moved.returncode == 0, moved.stderr
    assert is_sound(gossamer, ["--dir", "c"])
    assert sum(one.stat().st_size for one in segments(tmp_path / "two")) > 100_000
    assert (tmp_path / "c" / "crawl.sqlite").stat().st_size < 100_000 + 4096 * 40
    other = gossamer("crawl", f"{web.base_url}/", "--dir", "d", "--bodies", "two")
    assert (other.returncode, "the bodies of another crawl" in other.stderr) == (2, True)


def test_starting_over_removes_its_own_segments_and_nothing_else(
    gossamer: "Command", seed: str, tmp_path: Path
) -> None:
    words = ["crawl", seed, *QUICK, "--dir", "c", "--bodies", "bodies"]
    assert gossamer(*words).returncode == 0
    (old,) = segments(tmp_path / "bodies")
    foreign = tmp_path / "bodies" / f"7-0123456789ab-1{ENDING}"
    foreign.write_bytes(b"somebody else's")
    assert gossamer(*words, "--fresh").returncode == 0
    assert foreign.read_bytes() == b"somebody else's"
    assert len(segments(tmp_path / "bodies")) == 2
    assert not old.exists()
    assert is_sound(gossamer, ["--dir", "c"])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables by which an object store is reached."""
    with s3_server(tmp_path_factory.mktemp("s3") / "objects") as variables:
        yield variables


def test_segments_in_an_object_store(
    gossamer: "Command", seed: str, environment: dict[str, str], tmp_path: Path
) -> None:
    words = ["crawl", seed, *QUICK, "--dir", "c", "--bodies", f"s3://{BUCKET}/crawl/"]
    done = gossamer(*words, "-o", "site.warc.gz", **environment)
    assert done.returncode == 0, done.stderr
    assert segments(tmp_path / "c" / "bodies") == []  # all are uploaded
    store = S3Store(
        BUCKET,
        endpoint=environment["AWS_ENDPOINT_URL"],
        client_options={"allow_http": True},
        access_key_id=environment["AWS_ACCESS_KEY_ID"],
        secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )
    names = {one["path"] for batch in obstore.list(store, "crawl") for one in batch}
    assert len(names) == 3
    wait_until(lambda: gossamer("verify", "c", **environment).returncode == 0)
    body = gossamer("pages", "c", "--cat", 2, **environment)
    assert "the text of page" in body.stdout
    other = gossamer(*[*words[:-3], "d", *words[-2:]], **environment)
    assert (other.returncode, "was not written by this crawl" in other.stderr) == (2, True)
    assert gossamer(*words, "--fresh", **environment).returncode == 0
    again = {one["path"] for batch in obstore.list(store, "crawl") for one in batch}
    assert len(again) == 3
    assert len(again & names) == 1
