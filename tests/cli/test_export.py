"""`gossamer export` and `-o`, as people type them."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Reply, Web

if TYPE_CHECKING:
    from tests.cli.conftest import Command

MODULE = """
def prices(page):
    if "price" in page.url:
        yield {"price": int(page.url[-1])}
"""


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def untimed(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Return rows as they are by anybody's clock: a server has its own."""
    assert all("fetched_at" in row for row in rows)
    return [{name: one for name, one in row.items() if name != "fetched_at"} for row in rows]


NOTING = """
def note(page):
    with open("noted", "a") as file:
        print(page.url.rpartition("/")[2], page.content_usage, file=file)
"""


def describe(web: Web, pages: int) -> list[str]:
    site = web.site("127.0.0.1")
    site.page("/", links=[f"/{number}" for number in range(1, pages)], text="home")
    for number in range(1, pages):
        site.page(f"/{number}", title=f"T{number}", text=f"the text of page {number} " * 5)
    return ["crawl", f"{web.base_url}/", "--delay", "0s", "--similarity", "1"]


def test_an_export_is_what_the_crawl_writes_itself_and_goes_on_from_the_last(
    gossamer: "Command", web: Web, crawl: list[str], tmp_path: Path
) -> None:
    words = [*describe(web, 9), *crawl]
    done = gossamer(*words, "--max-pages", 5, "-o", "own.jsonl")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"Outputs +5 rows, 1\.\d kB  {tmp_path}/own\.jsonl\n", done.stderr)
    whole = gossamer("export", *crawl, "-o", "whole.jsonl", "-o", "whole.csv")
    assert whole.returncode == 0, whole.stderr
    assert f"{tmp_path / 'whole.csv'}: 5 rows, " in whole.stderr
    assert untimed(rows(tmp_path / "whole.jsonl")) == untimed(rows(tmp_path / "own.jsonl"))
    assert set(rows(tmp_path / "own.jsonl")[0]) >= {"url", "depth", "status", "title", "text"}
    assert gossamer(*words, "--max-pages", 9, "-o", "own.jsonl", "-q").returncode == 0
    assert gossamer("export", *crawl, "--new", "-o", "new.jsonl").returncode == 0
    own = rows(tmp_path / "own.jsonl")
    assert len(own) == 9
    assert untimed(rows(tmp_path / "new.jsonl")) == untimed(own[5:])
    for more in (["--new"], []):
        again = gossamer("export", *crawl, *more, "-o", "new.jsonl")
        told = "an export with --new leaves none): move it away, or name another output"
        assert (again.returncode, told in again.stderr) == (2, True)
    assert gossamer("export", *crawl, "--new", "-o", "none.jsonl").returncode == 0
    assert rows(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("store", ["memory:", "sqlite:"])
def test_records_take_the_place_of_pages(
    gossamer: "Command", web: Web, tmp_path: Path, store: str
) -> None:
    site = web.site("127.0.0.1")
    site.page("/", links=["/price1", "/price2"])
    (tmp_path / "prices.py").write_text(MODULE)
    words = ["crawl", f"{web.base_url}/", "--delay", "0s", "--dir", "c", "--store", store]
    words += ["--similarity", "off", "--workers", "1", "--module", "./prices.py:prices"]
    for name in ("/price1", "/price2"):
        site.page(name)
    done = gossamer(*words, "-o", "prices.jsonl")
    assert done.returncode == 0, done.stderr
    assert "2 records, " in done.stderr
    assert sorted(map(str, rows(tmp_path / "prices.jsonl"))) == ["{'price': 1}", "{'price': 2}"]
    if store != "memory:":
        assert gossamer("export", "c", "-o", "x.jsonl", "--fields", "id,url").returncode == 0
        assert [row["id"] for row in rows(tmp_path / "x.jsonl")] == [1, 2, 3]


def test_what_cannot_be_written_is_refused_before_anything_is_asked_for(
    gossamer: "Command", web: Web, tmp_path: Path
) -> None:
    words = describe(web, 2)
    (tmp_path / "mine.csv").write_text("mine")
    for output, complaint in {
        "a.txt": "names no format: use one of .jsonl",
        "mine.csv": "this crawl has no note of writing it",
        "nowhere/a.csv": "there is no directory",
    }.items():
        done = gossamer(*words, "-o", output)
        assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr
    assert "did you mean title?" in gossamer(*words, "--fields", "url,titel").stderr
    assert not web.requests
    assert (tmp_path / "mine.csv").read_text() == "mine"


def test_an_export_has_the_fields_that_it_is_asked_for(
    web: Web, gossamer: "Command", crawl: list[str], tmp_path: Path
) -> None:
    """Rows that the crawl made with other fields are still in the log then."""
    web.site("a.test").page("/", title="A page", text="and its text")
    gossamer("crawl", web.base_url, *crawl, "-o", "default.jsonl")
    gossamer("export", *crawl, "-o", "other.jsonl", "--fields", "url,bytes,markdown")
    row = json.loads((tmp_path / "other.jsonl").read_text())
    assert set(row) == {"url", "bytes", "markdown"}
    assert "and its text" in row["markdown"]


def test_preferences_for_the_use_of_a_page_come_with_it_everywhere(
    web: Web, gossamer: "Command", crawl: list[str], tmp_path: Path
) -> None:
    (tmp_path / "noting.py").write_text(NOTING)
    links = "".join(f"<a href='/{name}'>x</a>" for name in ("one", "two", "empty"))
    sent = {
        "": [],
        "one": [("Content-Usage", "train-ai=n")],
        "two": [("content-usage", "train-ai=n;x"), ("CONTENT-USAGE", " search=y, bots=n ")],
        "empty": [("Content-Usage", "")],
    }
    for name, fields in sent.items():
        headers = [("Content-Type", "text/html"), *fields]
        web.site("127.0.0.1").reply(f"/{name}", Reply(headers=headers, body=f"{links}{name}"))
    expected = {
        "": None,
        "one": "train-ai=n",
        "two": "train-ai=n;x, search=y, bots=n",
        "empty": None,
    }

    words = ["crawl", f"{web.base_url}/", "--delay", "0s", "--similarity", "off", *crawl]
    wanted = ["--fields", "url,content_usage", "--module", "./noting.py:note"]
    done = gossamer(*words, "-o", "own.jsonl", *wanted)
    assert done.returncode == 0, done.stderr
    assert gossamer("replay", *crawl, "--module", "./noting.py:note").returncode == 0
    named = wanted[:2]
    assert gossamer("export", *crawl, "-o", "new.jsonl", "-o", "a.csv", *named).returncode == 0
    for name in ("own.jsonl", "new.jsonl"):
        told = {str(row.pop("url")).rpartition("/")[2]: row for row in rows(tmp_path / name)}
        assert told == {name: {"content_usage": usage} for name, usage in expected.items()}
    assert '/two,"train-ai=n;x, search=y, bots=n"' in (tmp_path / "a.csv").read_text()
    noted = sorted((tmp_path / "noted").read_text().splitlines())
    assert noted == sorted(2 * [f"{name} {usage}" for name, usage in expected.items()])
    listed = [json.loads(line) for line in gossamer("pages", *crawl, "--json").stdout.splitlines()]
    assert {page["url"].rpartition("/")[2]: page["content_usage"] for page in listed} == expected
