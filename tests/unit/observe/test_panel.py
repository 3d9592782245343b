import io

import msgspec
import pytest
from rich.console import Console

from gossamer.coordinator import HostView
from gossamer.model import Snapshot
from gossamer.observe.messages import Message
from gossamer.observe.panel import FULL_HEIGHT, Panel

AT_80 = """\
━━━━━━━━━━━━━━━━━━╸                                       34% of the page budget
3,412 of 10,000 pages   128 pages/s   14 MB of 50 MB
27s   8,112 waiting   16 in progress   12 hosts

    3,412  fetched          host                         waiting  now
      120  redirected       docs.example                   4,112  2 in progress
       45  not found        slow.example                   2,001  next in 4m 10s
       12  robots denied    ready.example                      7  ready
        1  timed out        empty.example                      0  nothing left


continuing
warning: slow.example asks for patience

"""


@pytest.fixture
def panel(snapshot: Snapshot, hosts: list[HostView]) -> Panel:
    said = [Message("info", "continuing"), Message("warning", "slow.example asks for patience")]
    return Panel(snapshot, hosts, said)


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


def test_the_display_at_80_columns(panel: Panel) -> None:
    assert render(panel) == f"{AT_80}\n"


@pytest.mark.parametrize("width", [1, 10, 29, 40, 55, 56, 60, 72, 80, 96, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_the_height_is_fixed(
    panel: Panel, width: int
) -> None:
    long_host = msgspec.structs.replace(panel.hosts[0], host="x" * 250)
    said = [Message("error", "y" * 400)] * 9
    many = {f"outcome_{number}": 10**number for number in range(12)}
    full = Panel(
        msgspec.structs.replace(panel.snapshot, outcomes=many, waiting=10**15, max_pages=10**12),
        [long_host] * 20,
        said,
    )
    empty = Panel(msgspec.structs.replace(panel.snapshot, outcomes={}), [], [])
    for one in (full, panel, empty):
        lines = render(one, width).split("\n")[:-1]
        assert len(lines) == FULL_HEIGHT
        assert max(map(len, lines)) <= width


def test_there_is_more_to_see_where_there_is_room(panel: Panel) -> None:
    assert "docs.example" not in render(panel, 50)
    assert "docs.example" in render(panel, 60)
    assert "4,112" not in render(panel, 60)
    assert "4,112" in render(panel, 80)
    assert "1,204     45ms" in render(panel, 100)


def test_a_low_terminal_gets_the_heart_of_it(panel: Panel) -> None:
    lines = render(panel, height=FULL_HEIGHT).split("\n")[:-1]
    assert lines == [*AT_80.split("\n")[:3], ""]


def test_the_bar_is_about_the_budget_that_ends_the_crawl_first(panel: Panel) -> None:
    heavy = msgspec.structs.replace(panel.snapshot, bytes=45_000_000)
    first = render(Panel(heavy, [], [])).split("\n")[0]
    assert first.endswith("90% of the byte budget")
    over = msgspec.structs.replace(panel.snapshot, pages=20_000)
    assert "100% of the page budget" in render(Panel(over, [], []))


def test_rare_outcomes_are_counted_together(panel: Panel) -> None:
    many = {f"kind_{number}": number for number in range(1, 11)}
    lines = render(Panel(msgspec.structs.replace(panel.snapshot, outcomes=many), [], []), 40)
    assert [line.split() for line in lines.split("\n")[4:10]] == [
        ["10", "kind", "10"],
        ["9", "kind", "9"],
        ["8", "kind", "8"],
        ["7", "kind", "7"],
        ["6", "kind", "6"],
        ["15", "others"],
    ]


@pytest.mark.req("D19")
def test_foreign_text_is_shown_and_neither_obeyed_nor_taken_for_markup(
    panel: Panel, hostile: str
) -> None:
    host = msgspec.structs.replace(panel.hosts[0], host=hostile)
    outcomes = {hostile: 3}
    shown = render(
        Panel(
            msgspec.structs.replace(panel.snapshot, outcomes=outcomes),
            [host],
            [Message("error", hostile)],
        ),
        200,
    )
    assert all(line.isprintable() for line in shown.split("\n"))
    assert shown.count(r"\x1b[2J\x1b]") == 3
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
