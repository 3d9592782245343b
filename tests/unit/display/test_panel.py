import io

import msgspec
import pytest
from rich.console import Console

from gossamer.display.live import FULL_HEIGHT, HEIGHT_WITHOUT_WORKERS, Panel
from gossamer.display.outlet import Message
from gossamer.model import Snapshot
from gossamer.stores.reading import HostView, WorkerView
from gossamer.views.status import worker_entries

AT_80 = """\
━━━━━━━━━━━━━━━━━━╸                                       34% of the page budget
3,412 of 10,000 pages   128 pages/s   14 MB of 50 MB
27s   8,112 waiting   16 in progress   12 hosts   3 workers, 202 MB

    3,412  fetched          host                         waiting  now
      120  redirected       docs.example                   4,112  2 in progress
       45  not found        slow.example                   2,001  next in 4m 10s
       12  robots denied    ready.example                      7  ready
        1  timed out        empty.example                      0  nothing left


worker      pid    hosts  in progress  memory   busy
     1     4711        9           12  104 MB    97%
     2  1234567    1,204            4   98 MB     3%  silent for 12s, on there.…
     3        -        0            0       -      -


continuing
warning: slow.example asks for patience

"""


@pytest.fixture
def panel(snapshot: Snapshot, hosts: list[HostView], workers: list[WorkerView]) -> Panel:
    said = [Message("info", "continuing"), Message("warning", "slow.example asks for patience")]
    return Panel(snapshot, hosts, worker_entries(workers), said, "here.example")


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


def test_the_display_estimates_the_time_that_is_left(panel: Panel) -> None:
    snapshot = msgspec.structs.replace(panel.snapshot, urls_per_s=140.0)
    lines = render(Panel(snapshot, panel.hosts, panel.workers, panel.messages)).split("\n")
    assert lines[3] == "6,588 pages to the page budget, at 8ms each about 51 s"


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


def test_the_newest_message_is_wrapped_as_far_as_there_is_room(panel: Panel) -> None:
    hint = Message("info", "finishing what is in progress; press Ctrl-C again to quit now")
    said = [Message("info", "first"), Message("info", "second"), hint]
    narrow = msgspec.structs.replace(panel, messages=said, workers=[])
    assert render(narrow, 20).split("\n")[-5:-2] == [
        "finishing what is in",
        "progress; press",
        "Ctrl-C again to qui…",
    ]
    assert render(narrow, 40).split("\n")[-5:-2] == [
        "second",
        "finishing what is in progress; press",
        "Ctrl-C again to quit now",
    ]


def test_there_is_more_to_see_where_there_is_room(panel: Panel) -> None:
    assert "docs.example" not in render(panel, 50)
    assert "docs.example" in render(panel, 60)
    assert "4,112" not in render(panel, 60)
    assert "4,112" in render(panel, 80)
    assert "1,204     45ms" in render(panel, 100)


def test_a_low_terminal_gets_the_heart_of_it(panel: Panel) -> None:
    lines = render(panel, height=HEIGHT_WITHOUT_WORKERS).split("\n")[:-1]
    assert lines == [*AT_80.split("\n")[:3], ""]


def test_in_a_rather_low_terminal_the_workers_are_only_counted(panel: Panel) -> None:
    lines = render(panel, height=FULL_HEIGHT).split("\n")[:-1]
    assert "3 workers, 202 MB" in lines[2]
    whole = AT_80.split("\n")
    assert lines == [*whole[:10], *whole[-5:]]


def test_of_many_workers_the_first_ones_are_shown(panel: Panel) -> None:
    def shown(number: int) -> list[str]:
        """Return the first word of each line for workers."""
        many = [msgspec.structs.replace(panel.workers[0], number=one + 1) for one in range(number)]
        lines = render(msgspec.structs.replace(panel, workers=many)).split("\n")
        return [(line.split() or [""])[0] for line in lines[11:16]]

    assert shown(0) == ["", "", "", "", ""]
    assert shown(1) == ["worker", "1", "", "", ""]
    assert shown(4) == ["worker", "1", "2", "3", "4"]
    assert shown(5) == ["worker", "1", "2", "3", "…"]
    many = msgspec.structs.replace(panel, workers=[panel.workers[0]] * 16)
    assert "        … and 13 more\n" in render(many)
    assert "16 workers, 1.7 GB\n" in render(many)


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


def test_the_bar_is_about_the_budget_that_ends_the_crawl_first(panel: Panel) -> None:
    heavy = msgspec.structs.replace(panel.snapshot, received=45_000_000)
    first = render(Panel(heavy, [], [], [])).split("\n")[0]
    assert first.endswith("90% of the byte budget")
    over = msgspec.structs.replace(panel.snapshot, pages=20_000, visits=20_000)
    assert "100% of the page budget" in render(Panel(over, [], [], []))


def test_rare_outcomes_are_counted_together(panel: Panel) -> None:
    many = {f"kind_{number}": number for number in range(1, 11)}
    lines = render(Panel(msgspec.structs.replace(panel.snapshot, outcomes=many), [], [], []), 40)
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
