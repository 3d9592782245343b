import io

import msgspec
import pytest
from rich.console import Console

from gossamer.display.live import FULL_HEIGHT, HEIGHT_WITHOUT_WORKERS, Panel
from gossamer.display.outlet import Message
from gossamer.model import Snapshot
from gossamer.stores.crawl_views import HostView, WorkerView


@pytest.fixture
def panel(snapshot: Snapshot, hosts: list[HostView], workers: list[WorkerView]) -> Panel:
    said = [Message("info", "continuing"), Message("warning", "slow.example asks for patience")]
    return Panel(snapshot, hosts, workers, said, "here.example")


def render(panel: Panel, width: int = 80, height: int = 24) -> str:
    file = io.StringIO()
    Console(
        file=file,
        force_terminal=True,
        color_system=None,
        width=width,
        height=height,
        _environ={},
    ).print(panel)
    return "\n".join(line.rstrip() for line in file.getvalue().split("\n"))


@pytest.mark.parametrize("width", [1, 10, 29, 40, 55, 56, 60, 72, 80, 96, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_the_height_is_fixed(
    panel: Panel, width: int
) -> None:
    long_host = msgspec.structs.replace(panel.hosts[0], host="x" * 250)
    long_worker = msgspec.structs.replace(
        panel.workers[1], number=10**12, pid=10**12, hosts=10**12, memory=10**18, machine="z" * 250
    )
    said = [Message("error", "y" * 400)] * 9
    many = {f"outcome_{number}": 10**number for number in range(12)}
    full = Panel(
        msgspec.structs.replace(panel.snapshot, outcomes=many, waiting=10**15, max_pages=10**12),
        [long_host] * 20,
        [long_worker] * 1000,
        said,
    )
    empty = Panel(msgspec.structs.replace(panel.snapshot, outcomes={}), [], [], [])
    heights = {60: FULL_HEIGHT, 24: FULL_HEIGHT, 20: HEIGHT_WITHOUT_WORKERS, 15: 4}
    for one in (full, panel, empty):
        for height, expected in heights.items():
            lines = render(one, width, height).split("\n")[:-1]
            assert len(lines) == expected < height
            assert max(map(len, lines)) <= width


def test_a_worker_that_works_elsewhere_or_has_fallen_silent_stands_out(panel: Panel) -> None:
    shown = render(panel, 100)
    assert shown.count("silent for 12s, on there.example\n") == 1
    assert "here.example" not in shown.replace("there.example", "")
    file = io.StringIO()
    Console(
        file=file, force_terminal=True, width=80, height=24, color_system="standard", _environ={}
    ).print(msgspec.structs.replace(panel, hosts=[], messages=[]))
    (yellow,) = [line for line in file.getvalue().split("\n") if "\x1b[33m" in line]
    assert "1234567" in yellow


@pytest.mark.req("D19")
def test_foreign_text_is_shown_and_neither_obeyed_nor_taken_for_markup(
    panel: Panel, hostile: str
) -> None:
    host = msgspec.structs.replace(panel.hosts[0], host=hostile)
    worker = msgspec.structs.replace(panel.workers[0], machine=hostile)
    outcomes = {hostile: 3}
    shown = render(
        Panel(
            msgspec.structs.replace(panel.snapshot, outcomes=outcomes),
            [host],
            [worker],
            [Message("error", hostile)],
        ),
        200,
    )
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count(r"\x1b[2J\x1b]") == 4
    assert r"[red]x[/red] [/] :smile:\x9b31m\x7f\ud800" in shown


@pytest.mark.parametrize(("no_color", "coloured"), [(True, False), (False, True)])
def test_colour_is_left_out_when_it_is_not_wanted(
    panel: Panel, monkeypatch: pytest.MonkeyPatch, no_color: bool, coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1" if no_color else "")
    file = io.StringIO()
    Console(file=file, force_terminal=True, width=80, height=24).print(panel)
    assert ("\x1b[33m" in file.getvalue()) is coloured
