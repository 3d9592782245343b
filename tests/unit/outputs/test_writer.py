"""Outputs follow the log: cut, rewound and continued at any place, each result is there once."""

import asyncio
import csv
import gzip
import io
import json
import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.outputs.log import ScriptedLog

from gossamer.config.options import PAGE_FIELDS
from gossamer.content.page_parser import ParseRules
from gossamer.model.errors import CrawlError, UsageError
from gossamer.outputs.contract import OutputReport, OutputSpec
from gossamer.outputs.registry import make_output
from gossamer.outputs.rows import FIELDS
from gossamer.outputs.tables import write_csv
from gossamer.outputs.targets import OutputWishes, check_endings, check_places
from gossamer.outputs.writer import OutputWriter

Row = dict[str, object]


def json_rows(data: bytes) -> list[Row]:
    return [json.loads(line) for line in data.splitlines()]


def unzstd(data: bytes) -> bytes:
    return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()


def csv_rows(data: bytes) -> list[Row]:
    found = csv.DictReader(io.StringIO(data.decode(), newline=""))
    return [{**row, "depth": int(row["depth"])} for row in found]


def parquet_rows(data: bytes) -> list[Row]:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows: list[Row] = parquet.read_table(io.BytesIO(data)).to_pylist()
    return rows


READ: dict[str, Callable[[bytes], list[Row]]] = {
    "jsonl": json_rows,
    "jsonl.gz": lambda data: json_rows(gzip.decompress(data)),
    "jsonl.zst": lambda data: json_rows(unzstd(data)),
    "csv": csv_rows,
    "parquet": parquet_rows,
}


class OutputBench:
    """A crawl's directory, with one output; each writer is another process."""

    def __init__(self, tmp_path: Path, ending: str = "jsonl", **wishes: object) -> None:
        self.folder = tmp_path / "state"
        self.folder.mkdir()
        self.path = tmp_path / f"out.{ending}"
        self.wishes = OutputWishes(targets=(str(self.path),), **{"crawl": "c", **wishes})  # type: ignore[arg-type]
        self.log = ScriptedLog(self.wishes.row_fields)

    def begin(self) -> OutputWriter:
        specs = self.wishes.specs(self.folder)
        check_places(specs)
        writer = OutputWriter(specs, ParseRules())
        writer.lock()
        asyncio.run(writer.open(self.log.reader))
        return writer

    def follow(self, writer: OutputWriter) -> None:
        asyncio.run(writer.follow(self.log.reader))

    def finish(self, writer: OutputWriter) -> OutputReport:
        (report,) = asyncio.run(writer.finish(self.log.reader))
        return report

    def run(self) -> OutputReport:
        """Write to the end of the log, and finish."""
        writer = self.begin()
        self.follow(writer)
        return self.finish(writer)


@pytest.mark.parametrize("ending", READ)
def test_cut_anywhere_and_continued_each_row_is_there_once(tmp_path: Path, ending: str) -> None:
    bench = OutputBench(tmp_path, ending, fields=("url", "depth"))
    for number in range(30):
        bench.log.add_page(depth=number)
        writer = bench.begin()
        bench.follow(writer)
        if number % 3 == 1:
            writer.flush()
        if number % 7 == 6:
            bench.finish(writer)
        writer.close()  # as a kill: what was not kept is cut at the next start
        assert bench.path.exists() == (number >= 6 and (ending != "jsonl" or number % 7 == 6))
    bench.log.found[13] = 3  # a shorter path was found after row and file were written
    report = bench.run()
    expected = [
        {"url": f"http://a.test/{number + 1}", "depth": 3 if number == 12 else number}
        for number in range(30)
    ]
    assert READ[ending](bench.path.read_bytes()) == expected
    assert (report.items, report.bytes) == (30, bench.path.stat().st_size)
    assert not list(tmp_path.glob("*.part"))


def test_only_one_process_writes_an_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.outputs.resumable.LOCKED_FOR_S", 0.1)
    bench = OutputBench(tmp_path)
    writer = bench.begin()
    other = OutputWriter(bench.wishes.specs(bench.folder), ParseRules())
    with pytest.raises(CrawlError, match="another process is writing"):
        other.lock()
    writer.close()
    other.lock()
    other.close()


def test_torn_bytes_after_the_last_position_are_dropped(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path)
    bench.log.add_page()
    writer = bench.begin()
    bench.follow(writer)
    writer.flush()
    writer.close()
    part = tmp_path / "out.jsonl.part"
    part.write_bytes(part.read_bytes() + b'{"url":"http://a.te' * 9)
    bench.log.add_page()
    bench.run()
    assert [row["url"] for row in json_rows(bench.path.read_bytes())] == [
        "http://a.test/1",
        "http://a.test/2",
    ]


def test_results_that_a_server_lost_are_taken_out_again(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, fields=("url", "depth"))
    writer = bench.begin()
    for _ in range(5):
        bench.log.add_page()
        bench.follow(writer)
        writer.flush()
    bench.log.lose(2)
    bench.log.add_page(row=b'{"url":"other"}')
    bench.log.all[-1] = type(bench.log.all[-1])(
        number=4,
        url_id=99,
        page_id=4,
        settled_at=9.0,
        row=bench.log.carried(b'{"url":"other","depth":0}'),
    )
    bench.follow(writer)
    bench.finish(writer)
    assert [row["url"] for row in json_rows(bench.path.read_bytes())] == [
        *(f"http://a.test/{number}" for number in (1, 2, 3)),
        "other",
    ]


@pytest.mark.parametrize("kept", [False, True])
def test_with_the_first_record_a_table_is_one_of_records(tmp_path: Path, kept: bool) -> None:
    bench = OutputBench(tmp_path)
    bench.log.add_page()
    bench.log.add_page()
    writer = bench.begin()
    bench.follow(writer)
    writer.flush()
    bench.log.add_records({"price": 5}, {"price": 7})
    bench.follow(writer)
    if kept:
        writer.flush()
    writer.close()
    bench.log.add_page()
    bench.log.add_records({"price": 9})
    report = bench.run()
    assert json_rows(bench.path.read_bytes()) == [{"price": 5}, {"price": 7}, {"price": 9}]
    assert (report.items, report.unit) == (3, "record")


def test_fields_that_are_asked_for_make_rows_of_pages(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, fields=("id", "url"))
    bench.log.add_records({"price": 5})
    bench.run()
    assert json_rows(bench.path.read_bytes()) == [{"id": 1, "url": "http://a.test/"}]


def test_rows_with_other_fields_are_not_taken(tmp_path: Path) -> None:
    """The crawl has a table of its own, whose rows are still in the log."""
    bench = OutputBench(tmp_path, fields=("url", "status"))
    bench.log.add_page()
    output = make_output(bench.wishes.specs(bench.folder)[0])
    assert not output.wants_page(bench.log.all[0])
    bench.log.fields = ("url", "depth")
    bench.log.add_page()
    assert output.wants_page(bench.log.all[1])


def test_records_of_several_modules_say_whose_they_are(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, modules=("books", "prices:currency=eur", "noop"))
    bench.log.add_records({"title": "x"})
    bench.log.add_records({}, source="prices")
    bench.log.add_records({"_module": "mine", "big": 10**30}, source="prices")
    bench.run()
    assert json_rows(bench.path.read_bytes()) == [
        {"_module": "books", "title": "x"},
        {"_module": "prices"},
        {"_module": "prices", "big": 10**30},
    ]


MIXED: list[Row] = [
    {"n": 1, "f": 1, "t": "=1+1", "b": True, "l": [1, 2], "s": {"a": 1}, "m": 1, "big": 2**62},
    {"n": None, "f": 0.5, "t": 'é\n"x", y', "l": [], "s": {"b": "x"}, "m": "x", "big": 0.5},
    {"late": -3, "u": 2**70},
]


def test_csv_has_all_columns_and_no_formulas(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, "csv", csv_safe=True)
    bench.log.add_records(*MIXED)
    bench.run()
    rows = list(csv.reader(io.StringIO(bench.path.read_text(encoding="utf-8"), newline="")))
    assert rows[0] == ["n", "f", "t", "b", "l", "s", "m", "big", "late", "u"]
    assert rows[1][:7] == ["1", "1", "'=1+1", "true", "[1,2]", '{"a":1}', "1"]
    assert rows[2][:7] == ["", "0.5", 'é\n"x", y', "", "[]", '{"b":"x"}', "x"]
    assert rows[3][8] == "-3", "a number is no formula"


def test_parquet_has_the_types_of_all_values(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, "parquet")
    bench.log.add_records(*MIXED)
    bench.run()
    rows = parquet_rows(bench.path.read_bytes())
    assert rows[0] == {
        "n": 1,
        "f": 1.0,
        "t": "=1+1",
        "b": True,
        "l": [1, 2],
        "s": {"a": 1, "b": None},
        "m": "1",
        "big": str(2**62),
        "late": None,
        "u": None,
    }
    assert (rows[1]["f"], rows[1]["m"], rows[2]["late"]) == (0.5, "x", -3)
    assert rows[2]["u"] == str(2**70)


def test_parquet_knows_the_types_of_pages(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, "parquet", fields=("id", "fetched_at", "links", "title"))
    bench.log.add_page(row=b'{"fetched_at":"2026-11-17T21:51:44.250Z","title":"","links":["x"]}')
    bench.run()
    assert parquet_rows(bench.path.read_bytes()) == [
        {
            "id": 1,
            "fetched_at": datetime(2026, 11, 17, 21, 51, 44, 250_000, UTC),
            "links": ["x"],
            "title": "",
        }
    ]


@pytest.mark.parametrize("ending", READ)
def test_an_empty_table_is_one_too(tmp_path: Path, ending: str) -> None:
    bench = OutputBench(tmp_path, ending)
    assert (bench.run()).items == 0
    assert READ[ending](bench.path.read_bytes()) == []


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.part"])
def test_what_somebody_else_wrote_is_left_alone(tmp_path: Path, name: str) -> None:
    bench = OutputBench(tmp_path)
    (tmp_path / name).write_text("mine")
    with pytest.raises(UsageError, match="move it away"):
        bench.begin()
    assert (tmp_path / name).read_text() == "mine"


def test_a_finished_file_that_was_edited_is_left_alone(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path, "csv")
    bench.log.add_page()
    bench.run()
    bench.path.write_text("edited")
    with pytest.raises(UsageError, match="was changed since"):
        bench.begin()


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path: Path) -> None:
    bench = OutputBench(tmp_path)
    writer = bench.begin()
    bench.path.write_text("mine")
    with pytest.raises(CrawlError, match="was made by somebody else"):
        bench.finish(writer)
    assert bench.path.read_text() == "mine"
    writer.close()
    bench.path.unlink()
    bench.run()


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (("a.jsnl",), "use one of .jsonl, .jsonl.gz, .jsonl.zst, .csv, .parquet"),
        (("a.csv", "./x/../a.csv"), "named twice"),
    ],
)
def test_wrong_outputs_are_refused(targets: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_endings(targets)


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gossamer.outputs.registry.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"run pip install 'gossamer\[parquet\]'"):
        check_endings(["a.parquet"])


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_killed_while_a_file_gets_its_name(tmp_path: Path, ending: str) -> None:
    """The file has both names for a moment, where the system gives it the new one first."""
    bench = OutputBench(tmp_path, ending, fields=("url", "depth"))
    bench.log.add_page()
    bench.run()
    state = next(bench.folder.glob("*.json"))
    state.write_bytes(re.sub(rb'"stamp":{[^}]*}', b'"stamp":null', state.read_bytes()))
    bench.path.with_name(f"{bench.path.name}.part").hardlink_to(bench.path)
    bench.log.add_page()
    assert bench.run().items == 2
    assert len(READ[ending](bench.path.read_bytes())) == 2


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    wishes = OutputWishes(targets=(str(tmp_path / "no" / "a.csv"),))
    with pytest.raises(UsageError, match="there is no directory"):
        check_places(wishes.specs(tmp_path))


def test_every_field_that_can_be_asked_for_is_there() -> None:
    assert {*FIELDS, "id"} == set(PAGE_FIELDS)


@given(st.lists(st.lists(st.text(), min_size=1, max_size=3), min_size=1, max_size=4))
def test_any_text_comes_back_from_a_csv_file(table: list[list[str]]) -> None:
    names = ("x", "y", "z")
    fields = names[: max(map(len, table))]
    rows = [dict(zip(fields, row + [""] * 3, strict=False)) for row in table]
    spec = OutputSpec(target="", folder=Path(), key="", fields=fields)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.csv"
        write_csv(spec, lambda: map(msgspec.json.encode, rows), path)
        found = list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))
    assert found == rows
