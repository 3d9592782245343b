"""WARC archives: read by two independent libraries, cut and continued at any place."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import json
import zlib
from base64 import b32encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from tests.unit.outputs.log import ScriptedLog
from tests.unit.outputs.writing import write_all
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from gossamer.outputs.contract import PositionLostError
from gossamer.outputs.resumable import ResumableOutput
from gossamer.outputs.warc import WarcOutput
from gossamer.outputs.warc_records import archived_head, surt
from gossamer.stores.url_record import Result

if TYPE_CHECKING:
    from tests.unit.outputs.conftest import MakePage, MakeSpec, Put


def read(path: Path) -> list[tuple[dict[str, str], bytes]]:
    """Return the headers of all records and what they hold."""
    with path.open("rb") as file:
        return [
            (dict(one.rec_headers.headers), one.raw_stream.read())
            for one in ArchiveIterator(file, no_record_parse=True)
        ]


def index_of(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines()
    assert lines == sorted(lines)
    return [{"key": one.split(" ")[0], **json.loads(one.split(" ", 2)[2])} for one in lines]


def check(path: Path) -> None:
    """Have warcio compare all digests with what they are of."""
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.content_stream().read()


def test_a_page_is_archived_as_it_was_received(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    body = b"<title>A</title>" * 50
    coded = gzip.compress(body, mtime=0)
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    links = ["http://x.org/b", "http://x.org/c"]
    page = make_page("http://x.org/a", body, head=head, coded=coded, links=links)
    output = WarcOutput(spec := make_spec("x.warc.gz"))
    output.rewind(None)
    put(output, page)
    report = output.finish(())
    assert (report.items, report.files, report.bytes) == (1, 1, spec.path.stat().st_size)

    info, response, request, metadata = read(spec.path)
    kinds = [one[0]["WARC-Type"] for one in (info, response, request, metadata)]
    assert kinds == ["warcinfo", "response", "request", "metadata"]
    assert info[0]["WARC-Filename"] == "x.warc.gz"
    assert b"isPartOf: demo\r\n" in info[1]
    sha1 = b32encode(hashlib.sha1(coded, usedforsecurity=False).digest()).decode()
    assert response[0]["WARC-Payload-Digest"] == f"sha1:{sha1}"
    assert response[0]["WARC-IP-Address"] == "192.0.2.7"
    assert response[0]["WARC-Date"] == "2023-11-14T22:13:20Z"
    assert response[0]["WARC-Warcinfo-ID"] == info[0]["WARC-Record-ID"]
    assert response[1].startswith(
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nX-Crawl-Transfer-Encoding: chunked\r\n"
    )
    assert response[1].endswith(b"\r\n\r\n" + coded)
    assert request[1].startswith(b"GET /a HTTP/1.1\r\nHost: x.org\r\n")
    for record in (request, metadata):
        assert record[0]["WARC-Concurrent-To"] == response[0]["WARC-Record-ID"]
    lines = metadata[1].decode().split("\r\n")
    assert [one for one in lines if one.startswith("outlink")] == [
        *("outlink: http://x.org/b", "outlink: http://x.org/c")
    ]
    assert "via: http://x.org/from" in lines
    check(spec.path)

    # Both libraries find the page itself behind header and coding.
    with spec.path.open("rb") as file:
        assert [
            (one.http_headers.get_statuscode(), one.content_stream().read())
            for one in ArchiveIterator(file)
            if one.rec_type == "response"
        ] == [("200", body)]
    with spec.path.open("rb") as file:
        assert [
            (one.http_headers.status_code, one.reader.read())
            for one in FastIterator(file, record_types=WarcRecordType.response, parse_http=True)
        ] == [(200, coded)]
    with spec.path.open("rb") as file:
        assert all(one.verify_block_digest() for one in FastIterator(file, parse_http=False))


def test_the_url_of_a_record_is_the_one_that_was_asked(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    """A redirect between two spellings of a URL is followed at once, and the page has the first."""
    page = make_page("https://x.org/a//b?y=1&x=2", asked="https://x.org/a/b?x=2&y=1")
    output = WarcOutput(spec := make_spec("x.warc.gz"))
    write_all(output, put, page)
    (found,) = {headers.get("WARC-Target-URI") for headers, _ in read(spec.path)[1:]}
    assert found == "https://x.org/a/b?x=2&y=1"
    (entry,) = index_of(spec.path.with_name("x.cdxj"))
    assert entry["url"] == found


@pytest.mark.parametrize("head", [None, b"HTTP/2 200 \r\ncontent-type: text/html\r\n\r\n"])
def test_other_heads_can_be_read(
    make_page: MakePage, make_spec: MakeSpec, put: Put, head: bytes | None
) -> None:
    page = make_page(
        "http://x.org/a", b"<p>body", head=head, coded=b"not used" if not head else None
    )
    output = WarcOutput(spec := make_spec("x.warc.gz"))
    output.rewind(None)
    put(output, page)
    output.finish(())
    records = {one[0]["WARC-Type"]: one for one in read(spec.path)}
    assert records["response"][1].startswith(b"HTTP/1.1 200 ")
    assert ("request" in records) == (head is not None)
    assert (b"note: the header" in records["metadata"][1]) == (head is None)
    assert records["response"][0].get("WARC-Protocol") == ("h2" if head else None)
    with spec.path.open("rb") as file:
        (answer,) = [
            (one.http_headers.get_header("content-type"), one.content_stream().read())
            for one in ArchiveIterator(file)
            if one.rec_type == "response"
        ]
    assert answer == ("text/html", b"<p>body")


def test_a_wrong_length_is_put_right() -> None:
    lying = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\ncontent-length: 5\r\nA:b\n\r\n"
    assert archived_head(lying, 5) == (
        b"HTTP/1.1 200 OK\r\nX-Crawl-Content-Length: 7\r\ncontent-length: 5\r\nA:b\r\n\r\n"
    )
    assert archived_head(b"HTTP/1.1 200 OK\r\n\r\n", 5) == (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    )


def test_the_index_leads_to_each_record(make_page: MakePage, make_spec: MakeSpec, put: Put) -> None:
    output = WarcOutput(spec := make_spec("x.warc.gz", warc_size=3_000))
    output.rewind(None)
    for number in range(1, 31):
        body = hashlib.sha512(b"%d" % number).hexdigest().encode()
        page = make_page(f"http://x.org/{number}", body, number=number)
        put(output, page)
    report = output.finish(())
    paths = sorted(spec.path.parent.glob("*.warc.gz"))
    assert report.files == len(paths) > 5
    assert {one.name for one in paths} >= {"x.warc.gz", "x-00002.warc.gz"}
    assert all(one.stat().st_size <= 3_000 for one in paths)
    index = index_of(spec.path.with_name("x.cdxj"))
    assert len(index) == 30
    for entry in index:
        data = (spec.path.parent / entry["filename"]).read_bytes()[int(entry["offset"]) :]
        member = zlib.decompressobj(31)
        record = member.decompress(data)
        assert len(data) - len(member.unused_data) == int(entry["length"])
        (found,) = ArchiveIterator(io.BytesIO(gzip.compress(record)))
        assert found.rec_headers.get_header("WARC-Target-URI") == entry["url"]
        assert found.rec_headers.get_header("WARC-Payload-Digest") == entry["digest"]
        assert entry["key"] == f"org,x)/{entry['url'].rpartition('/')[2]}"
    for path in paths:
        check(path)


def test_content_that_comes_again_is_not_stored_again(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    first = make_page("http://x.org/a", b"<p>same")
    later = make_page("http://x.org/a", b"<p>same", fetched_at=1_700_000_100.0)
    changed = make_page("http://x.org/a", b"<p>else", fetched_at=1_700_000_200.0)
    output = WarcOutput(spec := make_spec("x.warc.gz"))
    output.rewind(None)
    put(output, first, 1)
    position = output.flush()
    output.close()
    output.rewind(position)  # what it has is known after a restart, too
    put(output, later, 2)
    position = output.flush()
    output.close()
    output.rewind(position)
    # A visit that replaced others before these were written comes for each of them.
    for number, page in ((3, later), (4, changed), (5, changed)):
        put(output, page, number)
    assert output.finish(()).items == 3
    kinds = [one[0]["WARC-Type"] for one in read(spec.path)]
    assert kinds.count("response") == 2
    (revisit,) = [one for one in read(spec.path) if one[0]["WARC-Type"] == "revisit"]
    assert revisit[0]["WARC-Refers-To-Target-URI"] == "http://x.org/a"
    assert revisit[0]["WARC-Refers-To-Date"] == "2023-11-14T22:13:20Z"
    assert revisit[0]["WARC-Profile"].endswith("/identical-payload-digest")
    assert revisit[1].endswith(b"\r\n\r\n")
    check(spec.path)
    mimes = [one["mime"] for one in index_of(spec.path.with_name("x.cdxj"))]
    assert mimes == ["text/html", "warc/revisit", "text/html"]


def test_an_archive_is_cut_at_any_position_and_continued(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    pages = [
        make_page(f"http://x.org/{n}", hashlib.sha512(b"%d" % n).digest(), number=n)
        for n in range(1, 13)
    ]
    spec = make_spec("x.warc.gz", warc_size=2_500)
    positions: list[bytes | None] = [None]
    output = WarcOutput(spec)
    output.rewind(None)
    for page in pages:
        put(output, page)
        positions.append(output.flush())
    output.finish(())
    for back in (11, 5, 0, 12):
        output = WarcOutput(spec)  # as after a kill: whatever was written after the position
        output.rewind(positions[back])
        assert not spec.path.exists()
        assert spec.path.with_name("x.warc.gz.part").exists()
        for page in pages[back:]:
            put(output, page)
            positions[page.id] = output.flush()
        output.finish(())
        urls = [
            one[0]["WARC-Target-URI"]
            for path in sorted(spec.path.parent.glob("*.warc.gz"))
            for one in read(path)
            if one[0]["WARC-Type"] == "response"
        ]
        assert sorted(urls) == sorted(one.url for one in pages)
        assert len(index_of(spec.path.with_name("x.cdxj"))) == 12
        assert [*spec.path.parent.glob("*.part")] == []


def test_an_archive_of_several_files_is_discarded_as_a_whole(
    make_page: MakePage, make_spec: MakeSpec
) -> None:
    spec = make_spec("x.warc.gz", warc_size=2_500)
    output = ResumableOutput(spec)
    output.lock()
    asyncio.run(output.open(ScriptedLog(()).reader))
    for n in range(1, 13):
        body = hashlib.sha512(b"%d" % n).digest()
        page = make_page(f"http://x.org/{n}", body, number=n)
        output.take(Result(number=n, url_id=n, page_id=n, settled_at=1.0), page)
    output.flush()
    assert len([*spec.path.parent.glob("*.part")]) > 1
    output.discard()
    assert not [*spec.path.parent.glob("*.part")]


@pytest.mark.parametrize("name", ["x.warc.gz", "x.warc.gz.part", "x-00002.warc.gz", "x.cdxj"])
def test_files_of_others_stay(
    make_page: MakePage, make_spec: MakeSpec, put: Put, name: str
) -> None:
    spec = make_spec("x.warc.gz", warc_size=1_000)
    foreign = spec.path.with_name(name)
    foreign.write_bytes(gzip.compress(b"mine"))
    output = WarcOutput(spec)
    with pytest.raises(FileExistsError, match=name):
        write_all(output, put, make_page("http://x.org/"), make_page("http://x.org/2", b"2"))
    assert gzip.decompress(foreign.read_bytes()) == b"mine"


def test_an_archive_that_was_moved_away_is_told(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    output = WarcOutput(spec := make_spec("x.warc.gz"))
    output.rewind(None)
    position = output.flush()
    output.finish(())
    spec.path.rename(spec.path.with_name("elsewhere"))
    with pytest.raises(PositionLostError):
        output.rewind(position)
    write_all(output, put, make_page("http://x.org/"))
    assert spec.path.exists()


@pytest.mark.parametrize(
    ("url", "key"),
    [  # as the Internet Archive's library has them
        ("http://127.0.0.1:8000/a/", "1,0,0,127:8000)/a"),
        ("http://www2.example.org/A/B/?b=2&a=1", "org,example)/a/b?a=1&b=2"),
        ("https://example.org:8443/x?", "org,example:8443)/x"),
        ("http://x.org/a%20b/%C3%A9?q=%2F+x&q=1&Q=0", "org,x)/a%20b/%c3%a9?q=/+x&q=0&q=1"),
        ("http://x.org/a//b/", "org,x)/a/b"),
        ("http://x.org/a?b=c=d&b", "org,x)/a?b&b=c=d"),
        ("http://x.org/a%2520b%23c?x[]=1|2", "org,x)/a%20b%23c?x[]=1|2"),
        (f"http://x.org/a?sid={'0aB1' * 8}&z=1", "org,x)/a?z=1"),
    ],
)
def test_sort_friendly_urls(url: str, key: str) -> None:
    assert surt(url) == key
