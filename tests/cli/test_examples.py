"""The examples, run as their docstrings say, on a web of our own."""

import csv
import gzip
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from pywb_server import pywb_server

from gossamer.testing import Reply, Web

Finished = subprocess.CompletedProcess[str]
Command = Callable[..., Finished]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BOOK = """<!doctype html><html lang="en"><title>{title}</title>
<div class="product_main"><h1>{title}</h1><p class="price_color">£{price}</p></div>
<p>{words}</p><table><tr><th>UPC</th><td>{upc}</td></tr><tr><th>Tax</th><td>£0</td></tr></table>
"""


def run(example: str, *words: str, cwd: Path, exit_code: int = 0) -> list[str]:
    """Run an example as a program; return what it prints."""
    command = [sys.executable, str(EXAMPLES / example), *words]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == exit_code, done.stderr
    return done.stdout.splitlines()


def table(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_every_example_is_short() -> None:
    lines = {file.name: len(file.read_text().splitlines()) for file in EXAMPLES.glob("*.py")}
    assert set(lines) == {
        *("archive.py", "books.py", "broken_links.py", "change_watcher.py"),
        *("site_to_markdown.py", "stats.py"),
    }
    assert max(lines.values()) <= 50


@pytest.mark.parametrize("example", ["archive", "change_watcher", "site_to_markdown"])
def test_without_its_arguments_an_example_says_how_it_is_used(example: str) -> None:
    command = [sys.executable, str(EXAMPLES / f"{example}.py"), "http://a.test/"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"usage: python examples/{example}.py URL ")


@pytest.mark.req("D12")
def test_books_to_a_table(web: Web, gossamer: Command, tmp_path: Path) -> None:
    shop = web.site("shop.test")
    shop.page("/", links=["/catalogue/1", "/catalogue/page-2", "/basket", "/catalogue/category/9"])
    shop.page("/catalogue/page-2", links=["/catalogue/2", "/catalogue/1", "/"])
    one = BOOK.format(title="Olive, a life", price="51.77", words="Of a tree.", upc="a8")
    two = BOOK.format(title="Soumission", price="50.10", words="Paris, in a while.", upc="b9")
    shop.page("/catalogue/1", html=one)
    shop.page("/catalogue/2", html=two)
    module = ["--module", EXAMPLES / "books.py:Books", "-o", "books.csv"]
    gossamer("crawl", web.base_url, "--delay", "0s", *module)
    header, *books = table(tmp_path / "books.csv")
    assert header == ["title", "price", "upc", "url"]
    assert sorted(books) == [
        ["Olive, a life", "51.77", "a8", f"{web.base_url}/catalogue/1"],
        ["Soumission", "50.1", "b9", f"{web.base_url}/catalogue/2"],
    ]
    assert {one.path for one in web.requests}.isdisjoint({"/basket", "/catalogue/category/9"})


@pytest.mark.req("D12")
def test_broken_links_with_the_pages_that_have_them(
    web: Web, gossamer: Command, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/old", "/b"])
    site.page("/b", links=["/", "/wrong"])
    site.status("/wrong", 410)
    module = ["--delay", "0s", "--module", EXAMPLES / "broken_links.py:BrokenLinks"]
    done = gossamer("crawl", web.base_url, *module, "-o", "broken.csv")
    assert table(tmp_path / "broken.csv") == [
        ["url", "status", "outcome", "found_on"],
        [f"{web.base_url}/old", "404", "not_found", f"{web.base_url}/"],
        [f"{web.base_url}/wrong", "410", "gone", f"{web.base_url}/b"],
    ]
    assert "BrokenLinks: the end of 4 URLs, 2 records" in " ".join(done.stderr.split())


def test_a_report_of_nothing_is_empty(web: Web, gossamer: Command, tmp_path: Path) -> None:
    """Not a table of the pages, which is what a crawl without records gives."""
    web.site("a.test").page("/", text="all is well")
    module = ["--module", EXAMPLES / "broken_links.py:BrokenLinks"]
    done = gossamer("crawl", web.base_url, *module, "-o", "broken.csv", "-o", "broken.jsonl")
    assert "0 records" in done.stderr
    assert (tmp_path / "broken.csv").read_text() == (tmp_path / "broken.jsonl").read_text() == ""


def test_the_numbers_of_a_crawl_that_is_continued(
    web: Web, gossamer: Command, tmp_path: Path
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/a", "/b"])
    site.page("/a", text="one")
    site.page("/b", text="two")
    module = ["--delay", "0s", "--dir", "c", "--module", EXAMPLES / "stats.py:Stats"]
    for pages in (2, 3):
        gossamer("crawl", web.base_url, *module, "--max-pages", str(pages))
        numbers = json.loads((tmp_path / "c" / "stats.json").read_text())
        assert numbers["all"]["pages"] == pages
        assert numbers["all"]["bytes"] > 0
        assert numbers["by_depth"] == {"0": 1, "1": pages - 1}
        assert numbers["by_content_type"] == {"text/html": pages}
        assert numbers["by_host"] == {web.base_url.removeprefix("http://"): pages}


def test_a_site_to_markdown_for_a_language_model(web: Web, tmp_path: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/z", "/a"], title="Home", text="the first page")
    site.page("/z", links=["/deep"], title="Near", text="it has a link to what is far away")
    site.page("/a", title="Large", text="many words " * 500)
    site.page("/deep", title="Deep", text="at the bottom")
    run("site_to_markdown.py", web.base_url, "site", "400", "0s", cwd=tmp_path)
    assert len(list((tmp_path / "site.md").rglob("*.md"))) == 4
    text = (tmp_path / "site.txt").read_text(encoding="utf-8")
    titles = [line for line in text.splitlines() if line.startswith("# ")]
    assert titles == ["# Home", "# Near", "# Deep"]  # the nearest first; one does not fit
    assert "](127.0.0.1" not in text
    assert f'url: "{web.base_url}/deep"' in text


def test_another_tool_replays_the_archive(tmp_path: Path) -> None:
    """Byte for byte, when the site is gone: the page, an image and a gzipped style sheet."""
    page = b"<!doctype html><link rel=stylesheet href=s.css><img src=i.png><a href=/b>b</a> caf\xe9"
    image, style = b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"p { color: red }\n" * 50
    as_bytes = {"Content-Type": "text/html; charset=iso-8859-1"}
    packed = {"Content-Type": "text/css", "Content-Encoding": "gzip"}
    with Web() as web:
        site = web.site("a.test")
        site.reply("/", Reply(headers=as_bytes, body=page))
        site.page("/b", title="Second")
        site.reply("/i.png", Reply(headers={"Content-Type": "image/png"}, body=image))
        site.reply("/s.css", Reply(headers=packed, body=gzip.compress(style)))
        said = run("archive.py", web.base_url, "site", "0s", cwd=tmp_path)
        origin = web.base_url
    assert said[0].startswith(f"{tmp_path}/site.warc.gz: 4 pages and files, ")
    (tmp_path / "config.yaml").write_text(
        "collections: {site: {index_paths: ./site.cdxj, archive_paths: ./}}\n"
    )
    with pywb_server(tmp_path) as pywb:

        def replayed(path: str, modifier: str = "id_") -> bytes:
            address = f"{pywb}/site/{modifier}/{origin}{path}"
            with urllib.request.urlopen(address, timeout=20) as answer:  # noqa: S310
                content: bytes = answer.read()
                is_packed = answer.headers["Content-Encoding"] == "gzip"
                return gzip.decompress(content) if is_packed else content

        assert replayed("/") == page
        assert replayed("/i.png") == image
        assert replayed("/s.css") == style
        assert f"/site/mp_/{origin}/b".encode() in replayed("/", "mp_")  # as a browser sees it


def test_a_change_watcher(web: Web, tmp_path: Path) -> None:
    site, watch = web.site("a.test"), ("change_watcher.py", web.base_url, "pages.json", "0s")
    site.page("/", links=["/b", "/c"], text="hello")
    site.page("/b", text="as it was")
    site.page("/c", text="to be removed")
    first = run(*watch, cwd=tmp_path)
    assert first == [f"new {web.base_url}/{path}" for path in ("", "b", "c")]
    assert run(*watch, cwd=tmp_path) == []
    site.page("/b", links=["/d"], text="as it is now")
    site.page("/d", text="another one")
    site.status("/c", 429)
    second = run(*watch, cwd=tmp_path)  # /c is not gone, its server is in trouble
    assert second == [f"changed {web.base_url}/b", f"new {web.base_url}/d"]
    site.status("/c", 404)
    assert run(*watch, cwd=tmp_path) == [f"gone {web.base_url}/c"]
    kept = (tmp_path / "pages.json").read_bytes()
    site.status("/", 503)
    assert run(*watch, cwd=tmp_path, exit_code=1) == []
    assert (tmp_path / "pages.json").read_bytes() == kept
    assert {one.name for one in tmp_path.iterdir()} == {"pages.json"}
