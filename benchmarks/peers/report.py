"""What came of a run: tables for people, JSON for later, and the picture."""

import os
import platform
from datetime import UTC, datetime

import msgspec
from benchmarks.drawing import Drawing
from benchmarks.idle import QUIET
from benchmarks.peers import crawlers as by
from benchmarks.peers.measuring import CrawlRun
from benchmarks.peers.places import DOCS, PAGE, RESULTS
from benchmarks.peers.sites import MANY, TITLES, CrawledSite
from benchmarks.peers.targets import CPU_MS_WANTED, Best, ratios
from benchmarks.written_page import write_part

HEAD = (
    "| | pages | requests | s | pages/s | CPU ms a page | peak MB | |",
    "|---|---:|---:|---:|---:|---:|---:|---|",
)
RATIO_HEAD = (
    "| Gossamer against | on | ratio | wanted | | by CPU |",
    "|---|---|---:|---:|---|---:|",
)
LABELS, BARS, ROW = 210, 380, 20


def tables(best: Best, sites: dict[str, CrawledSite]) -> str:
    """Return the figures of every site, and the ratios, as Markdown."""
    parts = []
    for name, runs in best.items():
        site = sites[name]
        size = f"{len(site.pages):,} pages of {site.average_bytes / 1000:.0f} kB"
        rows = [_row(crawler, run) for crawler, run in runs.items()]
        parts += [f"**{TITLES[name]}** ({name}: {size})", "", *HEAD, *rows, ""]
    parts += RATIO_HEAD
    for one in ratios(best):
        wanted = "" if one.wanted is None else f"{one.wanted:g} x"
        parts.append(
            f"| {one.whose} | {one.site} | {one.ratio:.2f} x | {wanted} | {one.verdict} | "
            f"{f'{one.by_cpu:.2f} x' if one.by_cpu else 'first pages'} |"
        )
    ours = best.get(MANY, {}).get(by.GOSSAMER)
    if ours is not None and not ours.is_cut:
        ms = ours.cpu_ms
        verdict = "holds" if ms <= CPU_MS_WANTED else "MISSED"
        parts += ["", f"CPU of a page among many: {ms:.2f} ms, at most {CPU_MS_WANTED}: {verdict}."]
    return "\n".join(parts)


def _row(crawler: str, run: CrawlRun) -> str:
    if run.is_cut:
        remark = f"ended after {run.wall_s:.0f} s"
    else:
        remark = "" if run.pages == run.listed else f"{run.listed - run.pages} missing"
    return (
        f"| {crawler} | {run.pages:,} | {run.requests:,} | {run.wall_s:.2f} | "
        f"{run.pages_per_s:,.0f} | {run.cpu_ms:.2f} | {run.peak_bytes / 1e6:.0f} | {remark} |"
    )


def machine() -> str:
    """Return where and when this was measured."""
    cores, python = os.cpu_count(), platform.python_version()
    return f"{cores} cores, Python {python}, {datetime.now(UTC):%Y-%m-%d}"


def store(best: Best, sites: dict[str, CrawledSite], turns: int, idle: float) -> None:
    """Write the JSON, the picture, and the tables into the page."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "measured": machine(),
        "turns": turns,
        "idle_before": idle,
        "sites": {
            name: {"title": TITLES[name], "pages": len(site.pages), "bytes": site.average_bytes}
            for name, site in sites.items()
        },
        "fastest": best,
        "ratios": [
            {
                "site": one.site,
                "against": one.whose,
                "ratio": one.ratio,
                "by_cpu": one.by_cpu,
                "wanted": one.wanted,
            }
            for one in ratios(best)
        ],
    }
    encoded = msgspec.json.format(msgspec.json.encode(record))
    (RESULTS / "peers.json").write_bytes(encoded + b"\n")
    (DOCS / "peers.svg").write_text(picture(best), encoding="utf-8")
    others = "" if idle >= QUIET else f" **Others used {1 - idle:.0%} of the machine.**"
    head = f"{machine()}; the fastest of {turns} turns.{others}"
    write_part(PAGE, "peers", f"{head}\n\n{tables(best, sites)}")


def picture(best: Best) -> str:
    """Return the pages a second of everybody on every site; each site has a scale of its own."""
    rows = sum(len(runs) + 2 for runs in best.values())
    drawing = Drawing(LABELS + BARS + 80, rows * ROW + 10)
    y = 0
    for name, runs in best.items():
        y += ROW
        drawing.text(10, y, f"{TITLES[name]}: pages per second", kind="title")
        most = max(run.pages_per_s for run in runs.values())
        for crawler, run in sorted(runs.items(), key=lambda one: -one[1].pages_per_s):
            width = BARS * run.pages_per_s / most
            drawing.bar(LABELS, y + 6, width, ROW - 6, "a" if crawler in by.OURS else "b")
            y += ROW
            drawing.text(LABELS - 8, y - 3, crawler, anchor="end")
            drawing.text(LABELS + width + 6, y - 3, f"{run.pages_per_s:,.0f}", kind="faint")
        y += ROW
    return drawing.svg()
