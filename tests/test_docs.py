"""What the README and the other pages say is what happens."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from write_configuration import text as configuration_page
from write_reference import text as reference_page

from gossamer import Page
from gossamer.testing import Web

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = "http://127.0.0.1:8000/"
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))
GOSSAMER = str(Path(sys.executable).with_name("gossamer"))


def programs(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def web() -> Iterator[Web]:
    """What the pages crawl: a page with a heading, another one, and a link that is broken."""
    with Web() as web:
        web.site("a.test").page("/", links=["/b", "/missing"], title="Hello", text="one Spider")
        web.site("a.test").page("/b", text="something else")
        yield web


def output(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def run(program: str, web: Web, folder: Path) -> str:
    assert LOOPBACK in program
    return output(folder, sys.executable, "-c", program.replace(LOOPBACK, f"{web.base_url}/"))


def test_the_programs_of_the_readme_run(web: Web, tmp_path: Path) -> None:
    words, books = programs("README.md")
    assert re.fullmatch(r"\d+ words\n", run(words, web, tmp_path))
    site = web.site("a.test")
    site.page("/", links=["/catalogue/1", "/basket"])
    site.page("/catalogue/1", html="<article class=book><h2>Emma</h2></article>")
    (tmp_path / "books.py").write_text(books)
    web.clear_requests()
    module = ["--delay", "0s", "--module", "./books.py:Books", "-o", "books.csv"]
    output(tmp_path, GOSSAMER, "crawl", f"{web.base_url}/", *module)
    assert "/basket" not in {record.path for record in web.requests}
    found = (tmp_path / "books.csv").read_text()
    assert found == f"title,url\nEmma,{web.base_url}/catalogue/1\n"


def test_the_programs_of_the_python_page_run(web: Web, tmp_path: Path) -> None:
    by_page, to_the_end, in_a_loop = programs("docs/python.md")
    assert run(by_page, web, tmp_path).splitlines()[0] == f"1 0 {web.base_url}/ Hello 5"
    told = run(to_the_end, web, tmp_path)
    assert told.startswith("complete 2 2 [")
    assert "missing: not_found" in told
    last = run(in_a_loop, web, tmp_path).splitlines()[-1]
    assert last.startswith("<Summary 'complete': 2 pages")


def test_the_programs_of_the_page_of_modules_run(web: Web, tmp_path: Path) -> None:
    headings, manual, find_words = programs("docs/modules.md")
    (tmp_path / "mine.py").write_text(headings + find_words)
    options = ["--delay", "0s", "--dir", "found", "-o", "headings.csv"]
    modules = ["./mine.py:headings", "./mine.py:FindWords:words=gossamer,spider"]
    named = [word for module in modules for word in ("--module", module)]
    output(tmp_path, GOSSAMER, "crawl", web.base_url, *options, *named)
    assert (tmp_path / "found" / "found.txt").read_text() == f"{web.base_url}/\n"
    assert (tmp_path / "headings.csv").read_text().splitlines() == [
        "_module,url,level,heading",
        f"./mine.py:headings,{web.base_url}/,1,Hello",
        f"./mine.py:headings,{web.base_url}/b,1,/b",
    ]
    assert run(manual, web, tmp_path) == "3 records\n"
    records = map(json.loads, (tmp_path / "manual.jsonl").read_text().splitlines())
    broken = {"url": f"{web.base_url}/missing", "failed": "not_found"}
    assert {**broken, "found_on": f"{web.base_url}/"} in records


def test_the_scorers_of_their_page_decide_the_order(web: Web, tmp_path: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/print/1", "/x", "/about-all-of-it", "/chapter/1"])
    for path in ("/print/1", "/x", "/about-all-of-it", "/chapter/1"):
        site.page(path)
    (program,) = programs("docs/scorers.md")
    (tmp_path / "mine.py").write_text(program + "\n\nshort_first.strict = True\n")
    options = ["--delay", "0s", "--workers", "1", "--connections", "1", "--store", "memory:"]
    found = {}
    for scorer in ("short_first", "Chapters"):
        web.clear_requests()
        named = ["--scorer", f"./mine.py:{scorer}"]
        output(tmp_path, GOSSAMER, "crawl", f"{web.base_url}/", *options, *named)
        found[scorer] = [one.path for one in web.requests if one.path != "/robots.txt"]
    assert found == {
        "short_first": ["/", "/x", "/print/1", "/chapter/1", "/about-all-of-it"],
        "Chapters": ["/", "/chapter/1", "/x", "/about-all-of-it", "/print/1"],
    }


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^]]+\]\(([a-z-]+\.md)\)", index, re.MULTILINE)
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages)


def test_every_command_that_is_named_exists() -> None:
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("gossamer")), "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    named = set(re.findall(r"gossamer ([a-z]+)", README)) - {"which"}
    assert {"crawl", "status", "explain", "verify"} <= named
    assert [name for name in named if f" {name} " not in shown] == []


def test_the_page_of_options_is_current() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == configuration_page(), "run 'make docs'"


def test_the_reference_is_current_and_whole() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == reference_page(), "run 'make docs'"
    told = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    offered = {name for name in dir(Page) if not name.startswith("_")}
    methods = {name for name in offered if f"**`{name}(" in page}
    assert offered - told - methods == {"document", "coded_body"}


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    pages = [README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")]
    named = {name for page in pages for name in re.findall(r"\bmake ([a-z]+)\b", page)}
    assert {"demo", "test", "check", "bench"} <= named
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", *DOCS])
def test_every_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`(src/[^`]+|\w+/[\w./]*\.py)`", text)
    homes = [ROOT, ROOT / "src" / "gossamer", ROOT / "src" / "gossamer" / "stores"]
    homes.append(ROOT / "src" / "gossamer" / "stores" / "redis")
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []
