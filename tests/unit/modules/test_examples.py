import asyncio
import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model import Page, Url
from gossamer.modules import ModuleContext, ModuleReport, ModuleRunner, load_module

MakePage = Callable[..., Page]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def run(spec: str, pages: list[Page], directory: Path, resumed_from: int = 0) -> ModuleReport:
    async def crawl() -> ModuleReport:
        runner = ModuleRunner([load_module(f"{EXAMPLES}/{spec}")])
        await runner.open(
            ModuleContext(directory=directory, crawl="x", worker=0, resumed_from=resumed_from)
        )
        for page in pages:
            await runner.deliver(page)
        await runner.close()
        return runner.report()[0]

    report = asyncio.run(crawl())
    assert report.last_error is None
    return report


def test_every_example_is_short_and_shown_here() -> None:
    files = {file.name: len(file.read_text().splitlines()) for file in EXAMPLES.glob("*.py")}
    assert set(files) == {"word_count.py", "link_graph.py"}
    assert max(files.values()) <= 30


@pytest.mark.req("D12")
def test_word_count_prints_a_line_for_each_page(
    make_page: MakePage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [make_page(1, read_text=lambda: "one two  three\n"), make_page(2, read_text=str)]
    assert run("word_count.py:word_count", pages, tmp_path).pages == 2
    assert capsys.readouterr().out == "1\t3\thttp://a.test/1\n2\t0\thttp://a.test/2\n"


def edges(directory: Path) -> list[list[str]]:
    with (directory / "links.csv").open(newline="") as file:
        return list(csv.reader(file))


@pytest.mark.req("D12")
def test_link_graph_writes_the_edges(make_page: MakePage, tmp_path: Path) -> None:
    odd = Url("http://b.test/?a=1,2&=cmd|'x'!A1")
    pages = [make_page(1, links=(odd, Url("http://a.test/2"))), make_page(2)]
    run("link_graph.py:LinkGraph", pages, tmp_path)
    assert edges(tmp_path) == [["1", "http://a.test/1", odd], ["1", *(p.url for p in pages)]]
    assert {entry.name for entry in tmp_path.iterdir()} == {"links.csv"}


@pytest.mark.req("D12", "B1")
def test_link_graph_has_each_edge_once_after_a_crash(make_page: MakePage, tmp_path: Path) -> None:
    targets = (Url("http://a.test/1"), Url("http://b.test/"))
    pages = [make_page(number, links=targets) for number in range(1, 15)]
    run("link_graph.py:LinkGraph", pages, tmp_path)
    whole = edges(tmp_path)
    # A crash in the middle of the lines of page 12, after page 9 was settled for good.
    text = (tmp_path / "links.csv").read_text()
    (tmp_path / "links.csv").write_text(text[: text.index("\n12,") + 2])
    run("link_graph.py:LinkGraph", pages[9:], tmp_path, resumed_from=9)
    assert edges(tmp_path) == whole
