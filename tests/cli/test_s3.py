"""Outputs in an object store: a real server that speaks S3, in a process of its own."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
import pytest
from obstore.store import S3Store
from redis_servers import wait_until
from s3_server import BUCKET, s3_server

from gossamer.model.errors import CrawlError, UsageError
from gossamer.outputs.s3 import Bucket
from gossamer.stores.object_store import CHUNK_BYTES, parse_s3_address
from gossamer.testing import Web

if TYPE_CHECKING:
    from tests.cli.conftest import Command

UPLOADED = ("pages.jsonl", "site.cdxj", "site.warc.gz")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables by which the server is reached."""
    with s3_server(tmp_path_factory.mktemp("s3") / "objects") as variables:
        yield variables


@pytest.fixture
def store(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> S3Store:
    """The bucket, as another program sees it."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    endpoint = environment["AWS_ENDPOINT_URL"]
    return S3Store(BUCKET, endpoint=endpoint, client_options={"allow_http": True})


def content(store: S3Store, key: str) -> bytes:
    """Return what is in an object; this server answers before it has written it down."""
    found: list[bytes] = [b""]

    def is_steady() -> bool:
        found.append(bytes(obstore.get(store, key).bytes()))
        return found[-1] != b"" and found[-1] == found[-2]

    wait_until(is_steady)
    return found[-1]


def names(store: S3Store, folder: str) -> list[str]:
    return sorted(one["path"] for batch in obstore.list(store, folder) for one in batch)


@pytest.mark.usefixtures("store")
def test_a_crawl_uploads_its_outputs_and_goes_on_with_them(
    gossamer: "Command", web: Web, store: S3Store, tmp_path: Path
) -> None:
    site = web.site("127.0.0.1")
    site.page("/", links=[f"/{number}" for number in range(1, 6)])
    for number in range(1, 6):
        site.page(f"/{number}", text=f"the text of page {number} " * 5)
    words = ["crawl", f"{web.base_url}/", "--delay", "0s", "--similarity", "1", "--dir"]
    table, archive = f"s3://{BUCKET}/crawl/pages.jsonl", f"s3://{BUCKET}/crawl/site.warc.gz"
    for limit in (3, 6):
        done = gossamer(*words, "c", "--max-pages", limit, "-o", table, "-o", archive)
        assert done.returncode == 0, done.stderr
        assert f"{limit} rows, " in done.stderr
        assert table in done.stderr
        wait_until(lambda: content(store, "crawl/pages.jsonl").count(b"\n") == limit)  # noqa: B023
        rows = content(store, "crawl/pages.jsonl").splitlines()
        assert len({json.loads(row)["url"] for row in rows}) == len(rows) == limit
    assert names(store, "crawl") == [f"crawl/{name}" for name in UPLOADED]
    packed = content(store, "crawl/site.warc.gz")
    assert gzip.decompress(packed).count(b"WARC-Type: response") == 6
    refused = gossamer(*words, "other", "-o", table)
    assert (refused.returncode, "was not written by this crawl" in refused.stderr) == (2, True)
    assert not (tmp_path / "other" / "crawl.sqlite").exists()


def test_a_file_is_uploaded_whole_and_may_be_replaced_by_its_crawl(
    store: S3Store, tmp_path: Path
) -> None:
    """In several parts, if it is large; meanwhile a mark says that it is in progress."""
    file = tmp_path / "pages.jsonl"
    file.write_bytes(b"0123456789abcdef" * (CHUNK_BYTES // 8))
    bucket = Bucket(parse_s3_address(f"s3://{BUCKET}/own/pages.jsonl"), "me")
    bucket.begin()
    assert names(store, "own") == ["own/pages.jsonl.part"]
    bucket.upload(file, "pages.jsonl")
    bucket.complete()
    assert names(store, "own") == ["own/pages.jsonl"]
    assert content(store, "own/pages.jsonl") == file.read_bytes()
    file.write_bytes(b"shorter")
    bucket.begin()
    bucket.upload(file, "pages.jsonl")
    wait_until(lambda: content(store, "own/pages.jsonl") == b"shorter")


def test_what_somebody_else_put_there_is_never_replaced(store: S3Store, tmp_path: Path) -> None:
    obstore.put(store, "foreign/pages.jsonl", b"mine")
    bucket = Bucket(parse_s3_address(f"s3://{BUCKET}/foreign/pages.jsonl"), "me")
    with pytest.raises(UsageError, match="was not written by this crawl"):
        bucket.begin()
    file = tmp_path / "file"
    file.write_bytes(b"other")
    with pytest.raises(UsageError, match="was not written by this crawl"):
        bucket.upload(file, "pages.jsonl")
    assert content(store, "foreign/pages.jsonl") == b"mine"


@pytest.mark.usefixtures("store")
def test_what_cannot_be_written_is_said_before_the_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="there is no bucket nowhere: make it first"):
        Bucket(parse_s3_address("s3://nowhere/pages.jsonl"), "me").begin()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(CrawlError, match=r"cannot reach or write s3://archive/pages\.jsonl"):
        Bucket(parse_s3_address(f"s3://{BUCKET}/pages.jsonl"), "me").begin()
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(UsageError, match="needs keys: set AWS_ACCESS_KEY_ID"):
        Bucket(parse_s3_address(f"s3://{BUCKET}/pages.jsonl"), "me")


@pytest.mark.parametrize(
    "text", ["s3://", "s3://bucket", "s3://bucket/", "s3://Bad_Bucket/x", "s3://bucket/a/../b"]
)
def test_an_address_names_an_object(text: str) -> None:
    with pytest.raises(UsageError, match="as in s3://"):
        parse_s3_address(text)
