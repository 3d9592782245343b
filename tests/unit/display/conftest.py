"""A crawl to look at, and a terminal to look through."""

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gossamer.coordinator.summary import Summary
from gossamer.model import Snapshot
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.crawl_views import HostView, WorkerView

HOSTILE = "\x1b[2J\x1b]0;x\x07\r\n\u202e[red]x[/red] [/] :smile:\x9b31m\x7f\ud800"
"""What a server, a title or an exception may say."""


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture
def snapshot() -> Snapshot:
    """Return a crawl in its middle."""
    return Snapshot(
        waiting=8112,
        in_progress=16,
        finished=3590,
        pages=3412,
        visits=3412,
        bytes=49_000_000,
        received=14_200_000,
        outcomes={
            "robots_denied": 12,
            "fetched": 3412,
            "redirected": 120,
            "not_found": 45,
            "gone": 0,
            "timed_out": 1,
        },
        hosts=12,
        elapsed_s=27.0,
        pages_per_s=128.4,
        ended_by=None,
        max_pages=10_000,
        max_bytes=50_000_000,
    )


@pytest.fixture
def hosts() -> list[HostView]:
    """Return one host in each condition."""
    return [
        HostView(
            host=host,
            waiting=waiting,
            in_progress=in_progress,
            pages=1204,
            failures=failures,
            next_in_s=next_in_s,
            mean_ms=45.0,
        )
        for host, waiting, in_progress, failures, next_in_s in [
            ("docs.example", 4112, 2, 0, 0.0),
            ("slow.example", 2001, 0, 3, 250.0),
            ("ready.example", 7, 0, 0, 0.0),
            ("empty.example", 0, 0, 0, 0.8),
        ]
    ]


@pytest.fixture
def workers() -> list[WorkerView]:
    """Return a busy worker, one elsewhere that is silent, and one that has told nothing yet."""
    new = WorkerView(number=3, hosts=0, in_progress=0, silent_s=0.0)
    here = {"pid": 4711, "machine": "here.example", "memory": 104_000_000, "busy": 0.97}
    there = {"pid": 1_234_567, "machine": "there.example", "memory": 98_300_000, "busy": 0.034}
    return [
        replace(new, number=1, hosts=9, in_progress=12, silent_s=0.4, **here),
        replace(new, number=2, hosts=1204, in_progress=4, silent_s=12.0, **there),
        new,
    ]


@pytest.fixture
def summary(snapshot: Snapshot, hosts: list[HostView]) -> Summary:
    """Return a crawl that ended by its page budget, with a module that failed."""
    return Summary(
        snapshot=snapshot,
        ended_by="max-pages",
        directory="docs.example",
        continue_with="gossamer resume docs.example --max-pages 20000",
        slowest_hosts=hosts[:2],
        modules=[
            report("save", pages=3412),
            report("./mine.py:count", pages=3400, errors=12, slow=1, last_error="KeyError: 'a'"),
        ],
    )


def report(
    name: str, *, pages: int, errors: int = 0, slow: int = 0, last_error: str | None = None
) -> ModuleReport:
    return ModuleReport(
        name=name,
        pages=pages,
        errors=errors,
        timed_out=0,
        slow=slow,
        missed=0,
        last_error=last_error,
    )


@pytest.fixture
def screen_of() -> Callable[[str], list[str]]:
    """Return what a person sees after a terminal has been sent this text."""
    return _screen_of


def _screen_of(sent: str) -> list[str]:
    lines, row, column = [""], 0, 0
    for control, number, letter, text in re.findall(
        r"(\r|\n)|\x1b\[([?0-9;]*)([A-Za-z])|([^\x1b\r\n]+)", sent
    ):
        if control == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif control == "\r":
            column = 0
        elif letter == "A":
            row -= int(number or 1)
            assert row >= 0, "the display would write over what was there before"
        elif letter == "K":
            assert number == "2"
            lines[row] = ""
        elif text:
            line = lines[row].ljust(column)
            lines[row] = line[:column] + text + line[column + len(text) :]
            column += len(text)
        else:
            assert letter == "m", f"an unexpected escape sequence: {number}{letter}"
    while lines and not lines[-1].strip():
        lines.pop()
    return [line.rstrip() for line in lines]
