"""What the display writes, compared with the files in golden/: read them to see how it looks."""

import io
import math
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from gossamer.coordinator.summary import FailedSeed, GivenUpHost, SeedReport, Summary
from gossamer.display import Outlet, progress_line, summary_text
from gossamer.display.formatting import count, counted, rate, size, span
from gossamer.display.jsonlog import JsonLog
from gossamer.display.lines import PlainLines
from gossamer.display.live import FULL_HEIGHT, HEIGHT_WITHOUT_WORKERS, Panel
from gossamer.display.outlet import Message
from gossamer.display.status import (
    WORKER_HEADING,
    about,
    at_work,
    estimate,
    first_workers,
    worker_cells,
    worker_remark,
)
from gossamer.display.summary import SEEDS_SHOWN, ending, outcome_reasons, seed_reasons
from gossamer.frontier.scorers.builtin import ScorerReport
from gossamer.model import Cause, CauseCount, Event, EventKind, HostKey, Outcome, Snapshot, Url
from gossamer.outputs.contract import OutputReport
from gossamer.stores.crawl_views import HostView, WorkerView

GOLDEN = Path(__file__).with_name("golden")
NOW = 1_700_000_000.25
replace = msgspec.structs.replace


@pytest.fixture
def check(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compare a text with the golden file of the test."""

    def compare(text: str) -> None:
        name = request.node.name.removeprefix("test_").partition("[")[0]
        assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")

    return compare


def screens(panels: dict[str, Panel], sizes: list[tuple[int, int]]) -> str:
    """Return what each panel looks like in terminals of these sizes."""
    parts = []
    for (name, panel), (width, height) in product(panels.items(), sizes):
        file = io.StringIO()
        console = Console(
            file=file,
            width=width,
            height=height,
            force_terminal=True,
            color_system=None,
            _environ={},
        )
        console.print(panel)
        lines = "\n".join(line.rstrip() for line in file.getvalue().split("\n"))
        parts.append(f"==== {name}, {width} x {height}\n{lines}")
    return "".join(parts)


@pytest.fixture
def panel(snapshot: Snapshot, hosts: list[HostView], workers: list[WorkerView]) -> Panel:
    said = [Message("info", "continuing"), Message("warning", "slow.example asks for patience")]
    return Panel(snapshot, hosts, workers, said, "here.example")


def test_live(panel: Panel, check: Callable[[str], None]) -> None:
    sizes = [(80, 24), (60, 24), (50, 24), (100, 24), (80, FULL_HEIGHT)]
    check(screens({"a crawl": panel}, [*sizes, (80, HEIGHT_WITHOUT_WORKERS)]))


def test_live_variants(panel: Panel, check: Callable[[str], None]) -> None:
    crawl, busy = panel.snapshot, panel.workers[0]
    many = [replace(busy, number=number + 1) for number in range(16)]
    hint = Message("info", "finishing what is in progress; press Ctrl-C again to quit now")
    said = [Message("info", "first"), Message("info", "second"), hint]
    panels = {
        "time left": replace(panel, snapshot=replace(crawl, urls_per_s=140.0)),
        "the byte budget": replace(panel, snapshot=replace(crawl, received=45_000_000)),
        "over budget": replace(panel, snapshot=replace(crawl, pages=20_000, visits=20_000)),
        "no worker": replace(panel, workers=[]),
        "one worker": replace(panel, workers=many[:1]),
        "four workers": replace(panel, workers=many[:4]),
        "sixteen workers": replace(panel, workers=many),
        "ten outcomes": replace(
            panel, snapshot=replace(crawl, outcomes={f"kind_{n}": n for n in range(1, 11)})
        ),
        "at rest": replace(panel, snapshot=replace(crawl, resting_s=12.0)),
    }
    text = screens(panels, [(80, 24)])
    check(text + screens({"long message": replace(panel, messages=said)}, [(20, 24), (40, 24)]))


@pytest.mark.req("D14")
def test_summary(summary: Summary, snapshot: Snapshot, check: Callable[[str], None]) -> None:
    small = {"pages": 1, "visits": 1, "bytes": 812, "received": 300, "hosts": 1}
    last = replace(
        snapshot, waiting=0, in_progress=0, outcomes={"fetched": 1}, elapsed_s=0.045, **small
    )
    last = replace(last, pages_per_s=22.2)
    seeds = [FailedSeed(url=Url("http://gone.test/"), outcome=Outcome.GONE, reason="410 Gone")]
    everything = replace(
        summary,
        snapshot=replace(
            snapshot,
            visits=3500,
            listed=120,
            over_host_urls=7,
            outcomes={"fetched": 3, "sitemap": 2},
        ),
        seeds=SeedReport(fetched=1, failed=seeds),
        pages_before=3000,
        given_up=[GivenUpHost(host=HostKey("down.test"), at=math.nan, urls=12, reason="no answer")],
        outputs=[
            OutputReport(target="pages.jsonl", items=3412, unit="page", bytes=9_100_000),
            OutputReport(target="s3://b/x.csv", items=1, unit="record", bytes=90, files=2),
        ],
        scorer=ScorerReport(name="ranks", unranked=3, trouble="the service said 503"),
        list_with="gossamer pages --dir docs.example",
        save_with="gossamer replay docs.example --module save",
    )
    summaries = {
        "a budget was met": summary,
        "a small crawl": Summary(snapshot=last, ended_by="complete", directory="one.example"),
        "a crawl that went on": everything,
        "nothing to do": replace(summary, was_over=True),
    }
    check("".join(f"==== {name}\n{summary_text(one)}\n" for name, one in summaries.items()))


@pytest.mark.req("D14")
def test_endings(summary: Summary, check: Callable[[str], None]) -> None:
    left = [(0, 0), (1, 0), (1234, 0), (7, 1)]
    ends = ("complete", "max-pages", "max-bytes", "max-time", "interrupted", "the disk is full")

    def lines() -> Iterator[str]:
        for ended_by, (waiting, in_progress) in product(ends, left):
            last = replace(summary.snapshot, waiting=waiting, in_progress=in_progress)
            yield ending(replace(summary, snapshot=last, ended_by=ended_by))
        seed = FailedSeed(url=Url("http://a.test/"), outcome=Outcome.GONE, reason="410 Gone")
        failed = SeedReport(failed=[seed])
        last = replace(summary.snapshot, waiting=0, in_progress=0)
        yield ending(replace(summary, snapshot=last, ended_by="complete", seeds=failed))

    check("".join(f"{line}\n" for line in lines()))


def test_reasons(check: Callable[[str], None]) -> None:
    def cause(outcome: Outcome, cause: Cause, status: int | None, urls: int) -> CauseCount:
        return CauseCount(outcome=outcome, cause=cause, status=status, urls=urls)

    def refused(*urls_by_status: tuple[int, int]) -> list[CauseCount]:
        why = Outcome.CLIENT_ERROR, Cause.STATUS_CLIENT_ERROR
        return [cause(*why, status, urls) for status, urls in urls_by_status]

    cases: list[tuple[dict[str, int], list[CauseCount]]] = [
        ({"too_large": 12, "fetched": 2, "not_found": 4, "robots_denied": 1}, []),
        ({"client_error": 2}, refused((403, 2))),
        ({"client_error": 13}, refused((403, 7), (401, 2), (499, 2), (451, 1), (418, 1))),
        ({"timed_out": 3}, [cause(Outcome.TIMED_OUT, Cause.SILENCE_TIMEOUT, None, 3)]),
        ({"fetched": 9}, [cause(Outcome.FETCHED, Cause.NO_MARKERS, 200, 2)]),
    ]
    rows = [row for case in cases for row in [*outcome_reasons(*case, 10_000_000), ("", "")]]
    failed = [
        FailedSeed(url=Url(f"http://a.test/{number}"), outcome=Outcome.GONE, reason="\x1bgone")
        for number in range(SEEDS_SHOWN + 2)
    ]
    reports = SeedReport(fetched=3), SeedReport(fetched=1, waiting=1, failed=failed)
    seeds = [line for report in reports for line in seed_reasons(report)]
    check(
        "".join(f"{f'{urls:>3}  {words}'.strip()}\n" for urls, words in rows)
        + "".join(f"{line}\n" for line in seeds)
    )


def test_lines(
    snapshot: Snapshot,
    hosts: list[HostView],
    workers: list[WorkerView],
    check: Callable[[str], None],
) -> None:
    def silent(number: int, dead_in_s: float, **changes: float) -> WorkerView:
        view = WorkerView(number=number, hosts=3, in_progress=2, silent_s=8.0, dead_in_s=dead_in_s)
        return replace(view, **changes)

    over = replace(snapshot, waiting=0, in_progress=0)
    idle = replace(snapshot, in_progress=0)
    resting = [replace(host, next_in_s=3000.0) for host in hosts]
    ticks: list[tuple[Snapshot, list[HostView], list[WorkerView]]] = [
        (snapshot, hosts, workers),
        *((replace(over, unwritten=left), hosts, []) for left in (1_234, 1, 0)),
        (replace(snapshot, resting_s=23.6), hosts, []),
        (replace(snapshot, resting_s=90.0), hosts, [silent(1, 9.0)]),
        (snapshot, hosts, [silent(2, 22.2)]),
        (snapshot, hosts, [silent(2, 22.2), silent(4, 25.0)]),
        (snapshot, hosts, [silent(2, 22.2, in_progress=0)]),
        (snapshot, hosts, [silent(2, 29.0, silent_s=1.0)]),
        (replace(snapshot, relaxing=True, visits=3500), hosts, []),
        (idle, resting, []),  # finding 11: a host that wants to be left alone is named
        (snapshot, resting, []),
        (idle, [replace(hosts[0], next_in_s=1.0)], []),
    ]
    error = io.StringIO()
    lines = PlainLines(Outlet(error), interval_s=0.0)
    for tick in ticks:
        lines.tick(*tick)
    lines.say("info", "going on", waiting=12)
    lines.say("warning", "slow.example asks for patience", wait_s=2.5)
    check(error.getvalue())


@pytest.mark.req("C10", "F4")
def test_steps(check: Callable[[str], None]) -> None:
    """The columns are those of LogR."""
    url = "http://a.test/"
    events = [
        Event(kind, depth, url)
        for depth, kind in enumerate(EventKind)
        if kind is not EventKind.UNFETCHED
    ]
    events += [Event(EventKind.UNFETCHED, 1, url, one) for one in Outcome if one != "fetched"]
    events.append(Event(EventKind.UNFETCHED, 10, url, Outcome.ROBOTS_DENIED, "Disallow: /"))
    check("".join(f"{progress_line(event)}\n" for event in events))


@pytest.mark.req("D18")
def test_json(
    snapshot: Snapshot,
    hosts: list[HostView],
    workers: list[WorkerView],
    check: Callable[[str], None],
) -> None:
    stream = io.StringIO()
    log = JsonLog(Outlet(stream), lambda: NOW, "debug")
    log.say("warning", "robots.txt is missing", host="a.test", tries=3, took_s=0.25)
    log.event(Event(EventKind.FETCHED, 0, "http://a.test/"))
    log.event(Event(EventKind.UNFETCHED, 1, "http://b.test/", Outcome.TIMED_OUT, "slow"))
    for second in range(6):  # a line every five seconds
        log.tick(replace(snapshot, elapsed_s=float(second)), hosts, workers[: 3 - second // 2])
    check(stream.getvalue())


def test_numbers(check: Callable[[str], None]) -> None:
    sizes = (0, 999, 1000, 3_400_000, 9_949_999, 9_950_000, 50_000_000, 999_499, 999_500)
    spans = (-1.0, 0.0, 0.045, 0.9996, 4.23, 9.96, 27.4, 59.6, 65.0, 3599.6, 7380.0, 273_600.0)
    lines = [f"size {number} = {size(number)}" for number in (*sizes, 1_234_000_000, 10**19)]
    lines += [f"span {number} = {span(number)}" for number in (*spans, math.inf, math.nan)]
    rates = (0.0, 0.94, 9.96, 1234.4, math.inf)
    lines += [f"rate {number} = {rate(number)}" for number in rates]
    lines += [f"count 12345 = {count(12345)}"]
    lines += [f"counted {number} = {counted(number, 'page')}" for number in (0, 1, 2000)]
    lines += [f"about {number} = {about(number)}" for number in (0.1, 89, 240, 7200, 200_000)]
    check("".join(f"{line}\n" for line in lines))


def test_estimates(snapshot: Snapshot, check: Callable[[str], None]) -> None:
    """A crawl of one host, asked once a second for half a minute."""
    polite = replace(
        snapshot, waiting=242, in_progress=1, pages=27, elapsed_s=30.0, pages_per_s=0.9
    )
    polite = replace(polite, urls_per_s=1.0)
    fast = replace(polite, urls_per_s=20.0)

    def host(waiting: int, mean_ms: float, delay_s: float = 1.0) -> HostView:
        view = HostView(
            host="a.test", waiting=0, in_progress=0, pages=9, failures=0, next_in_s=0.0, mean_ms=0.0
        )
        return replace(view, waiting=waiting, mean_ms=mean_ms, delay_s=delay_s)

    cases: dict[str, tuple[Snapshot, list[HostView]]] = {
        "what is known takes as long as what was done": (polite, []),
        "as long as the busiest host": (fast, [host(10, 0.0), host(200, 500.0)]),
        "a host without a pause": (fast, [host(200, 500.0, delay_s=0.0)]),
        "a budget may end it before": (replace(polite, max_pages=117), []),
        "nothing left": (replace(polite, waiting=0, in_progress=0), []),
        "nothing done": (replace(polite, urls_per_s=0.0), []),
        "too early": (replace(polite, elapsed_s=1.0), []),
    }
    check("".join(f"{f'{name}: {estimate(*case)}'.rstrip()}\n" for name, case in cases.items()))


def test_workers(workers: list[WorkerView], check: Callable[[str], None]) -> None:
    busy = [replace(workers[0], busy=share) for share in (0.0, 0.004, 1.0, 1.04, math.nan)]
    busy += [replace(workers[0], silent_s=seconds) for seconds in (5.0, 5.1)]
    lines = [" | ".join(WORKER_HEADING)]
    lines += [
        " | ".join([*worker_cells(worker), worker_remark(worker, here)])
        for here, worker in product(("here.example", "there.example"), [*workers, *busy])
    ]
    for some in ([], workers, workers[:1], workers[2:]):
        lines.append(f"at work: {at_work(some)}")
    for number, room in ((3, 3), (3, 2), (3000, 2)):
        shown, others = first_workers(workers * (number // 3), room)
        lines.append(f"{number} workers in {room} lines: {len(shown)}, {others}")
    check("".join(f"{line.rstrip()}\n" for line in lines))
