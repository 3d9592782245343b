"""What is kept of a page is all of it: read from the store it is the page that modules saw."""

import asyncio
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from crawled import Crawled
from tests.unit.views.reading import in_directory, verified

from gossamer.config.store_address import IN_DIRECTORY
from gossamer.content.page_parser import ParseRules
from gossamer.frontier.memory import PageMemory
from gossamer.model import Page
from gossamer.modules.stored_pages import ParsedParts, read_page
from gossamer.outputs.rows import PrecomputedRow, precomputed_row
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.registry import open_for_reading
from gossamer.testing import Reply, Web

TITLED = "<title>{0}</title><p>The page {0}</p>"


def kept_pages(directory: Path) -> list[Page]:
    async def read() -> list[Page]:
        request = ReadRequest(address=IN_DIRECTORY, name=None, directory=directory)
        async with open_for_reading(request) as reader:
            pages = [
                await read_page(reader, record, ParseRules()) async for record in reader.pages()
            ]
        return [page for page in pages if page is not None]

    return asyncio.run(read())


@pytest.mark.req("D10")
def test_a_kept_page_is_the_page_that_was_shown(
    web: Web, crawl: Callable[..., Crawled], tmp_path: Path
) -> None:
    site = web.site("a.test")
    coded = gzip.compress(TITLED.format("coded").encode())
    site.page("/", links=["/old", "/coded"], title="plain")
    site.reply("/coded", Reply(body=coded, headers={"Content-Encoding": "gzip", "X-Mine": "a"}))
    site.redirect("/old", "/older")
    site.redirect("/older", "/new")
    site.page("/new", title="new")
    shown = {page.id: page for page in crawl("http://a.test/").pages}
    kept = {page.id: page for page in kept_pages(tmp_path / "crawl")}
    assert len(shown) == 3
    assert shown.keys() == kept.keys()
    for number, page in shown.items():
        for name in set(Page.__struct_fields__) - {"document"}:
            assert getattr(page, name) == getattr(kept[number], name), name
        assert page.exchange is not None
        assert page.address == web.address[0]
        assert page.text == kept[number].text
        assert page.wire_body == kept[number].wire_body
    by_title = {page.title: page for page in kept.values()}
    assert by_title["coded"].wire_body == coded
    assert by_title["coded"].headers.get("x-mine") == "a"
    assert by_title["plain"].wire_body == by_title["plain"].body
    arrivals = {title: (one.found_on, one.redirected_from) for title, one in by_title.items()}
    assert arrivals == {
        "plain": (None, ()),
        "coded": ("http://a.test/", ()),
        "new": ("http://a.test/", ("http://a.test/old", "http://a.test/older")),
    }


@pytest.mark.req("D9", "D10")
def test_bodies_that_are_kept_compressed_are_compared_shown_and_verified(
    web: Web, crawl: Callable[..., Crawled], tmp_path: Path
) -> None:
    site = web.site("a.test")
    words = " ".join(f"word{number}, and more of it," for number in range(300))
    site.page("/", links=["/1", "/2"])
    for number in (1, 2):
        body = f"<article><h1>About</h1><p>{words}</p><p>{number}</p></article>".encode()
        coded = gzip.compress(body, 0)
        site.reply(f"/{number}", Reply(body=coded, headers={"Content-Encoding": "gzip"}))
    crawled = crawl("http://a.test/", similarity=0.9)
    outcomes = sorted(str(crawled.outcome(f"http://a.test/{number}")) for number in (1, 2))
    assert outcomes == ["fetched", "similar"]
    kept = kept_pages(tmp_path / "crawl")[1]
    assert kept.body.startswith(b"<article>")
    assert len(kept.wire_body) > len(kept.body), "kept as received, although that is larger"
    assert verified(in_directory(tmp_path / "crawl")).sound


@pytest.mark.req("D14")
def test_an_output_of_whole_pages_need_not_parse_them_again(
    web: Web, crawl: Callable[..., Crawled], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PageMemory, "drop_rows", lambda *_: None)
    site = web.site("a.test")
    site.page("/", links=["/german", "http://b.test/away"])
    site.page("/german", html="<html lang=de><title>Seite</title><a href=/>zurück</a>")
    targets = tuple(str(tmp_path / name) for name in ("pages.warc.gz", "pages.jsonl"))
    crawl("http://a.test/", output=targets)

    async def read() -> list[tuple[PrecomputedRow, Page | None, Page | None, Page | None]]:
        request = ReadRequest(address=IN_DIRECTORY, name=None, directory=tmp_path / "crawl")
        found, rules = [], ParseRules()
        async with open_for_reading(request) as reader:
            for result in await reader.results(0, 10):
                carried, record = precomputed_row(result), await reader.page(result.page_id or 0)
                assert record is not None
                readings = (None, carried.parsed, ParsedParts((), "xx"))
                pages = [await read_page(reader, record, rules, one) for one in readings]
                found.append((carried, *pages))
        return found  # type: ignore[return-value]  # three pages each

    found = asyncio.run(read())
    assert len(found) == 2
    for carried, parsed, unparsed, blind in found:
        assert carried.parsed is not None
        assert b'"text":' in carried.row
        for name in set(Page.__struct_fields__) - {"document"}:
            assert getattr(parsed, name) == getattr(unparsed, name), name
        assert blind is not None
        assert (blind.links, blind.language) == ((), "xx"), "it is not parsed"
    assert {parsed.language for _, parsed, _, _ in found if parsed is not None} == {"en", "de"}
