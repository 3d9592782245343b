"""What pages cost a Redis, as records, tables and a picture."""

import math
from collections.abc import Mapping, Sequence

import msgspec
from tests.perf.growing_web import LINKS
from tests.perf.redis_figures import STEPS, Work

OF_URLS = {"known", "urls", "shelf:", "line"}
OF_PAGES = {"targets", "pages", "content:", "digest:", "band:", "sample:"}
COLOURS = {"settle": "#06c", "claim": "#0b6", "lease": "#c60", "frontier": "#939", "all": "#444"}


class Cost(msgspec.Struct, frozen=True):
    """What pages cost while so many URLs were known."""

    known: int
    pages: int
    work: Work
    page_bytes: float
    """Memory for each page, with the URLs that it made known."""
    trips: float
    """Round trips for each page."""

    def us(self, *steps: str) -> float:
        return sum(self.work.steps_us[step] for step in steps) / self.pages

    @property
    def cpu_us(self) -> float:
        return self.work.cpu_s * 1e6 / self.pages

    def shares(self) -> dict[str, float]:
        """Return the server's time for a page, in µs."""
        return {
            "settle": self.us("settle"),
            "claim": self.us("claim"),
            "lease": self.us("lease"),
            "frontier": self.us("candidates", "prioritise", "route"),
            "all": self.us(*STEPS),
        }


class Pair(msgspec.Struct, frozen=True):
    """One store beside a small one, in the same seconds."""

    cost: Cost
    small: Cost
    url_bytes: float
    """Memory for each URL that was made known before."""

    @property
    def growth(self) -> float:
        return self.cost.us(*STEPS) / self.small.us(*STEPS)


class Memory(msgspec.Struct, frozen=True):
    """Where the memory of a store went."""

    kinds: Mapping[str, int]
    """Bytes by kind of key."""
    known: int
    pages: int


def joined(costs: Sequence[Cost]) -> Cost:
    """Return what several stretches cost together."""
    pages = sum(one.pages for one in costs)
    steps_us = {step: sum(one.work.steps_us[step] for one in costs) for step in STEPS}
    return Cost(
        known=costs[0].known,
        pages=pages,
        work=Work(steps_us, sum(one.work.cpu_s for one in costs)),
        page_bytes=sum(one.page_bytes * one.pages for one in costs) / pages,
        trips=sum(one.trips * one.pages for one in costs) / pages,
    )


def cost_table(pairs: Sequence[Pair]) -> str:
    """Return the costs as a table of Markdown."""
    lines = [
        f"| URLs known | {' | '.join(COLOURS)} | beside {pairs[0].small.known:,} | "
        "server CPU | round trips |",
        "|---:" * (len(COLOURS) + 4) + "|",
    ]
    for pair in pairs:
        one = pair.cost
        steps = " | ".join(f"{us:.0f} µs" for us in one.shares().values())
        lines.append(
            f"| {one.known:,} | {steps} | {pair.growth:.2f} x "
            f"| {one.cpu_us:.0f} µs | {one.trips:.2f} |"
        )
    return "\n".join(lines)


def memory_table(memory: Memory) -> str:
    """Return where the memory went, for each URL and for each page, as a table of Markdown."""
    kinds = memory.kinds
    lines = ["| keys | bytes | for each |", "|---|---:|---|"]
    rest = sum(kinds.values())
    for names, count, each in (
        (OF_URLS, memory.known, "URL known"),
        (OF_PAGES, memory.pages, "page kept"),
    ):
        total = sum(kinds.get(name, 0) for name in names)
        rest -= total
        lines += [
            f"| {name} | {kinds[name] / count:,.0f} | {each} |"
            for name in sorted(names, key=lambda name: -kinds.get(name, 0))
            if name in kinds
        ]
        lines.append(f"| together | {total / count:,.0f} | {each} |")
    lines.append(f"| all others | {rest:,} | crawl |")
    return "\n".join(lines)


def picture(pairs: Sequence[Pair]) -> str:
    """Return the costs of a page over the number of known URLs, as SVG."""
    left, top, wide, high = 60, 20, 520, 260
    costs = [pair.cost for pair in pairs]
    most = 100 * math.ceil(max(one.shares()["all"] for one in costs) * 1.3 / 100)
    low, span = math.log10(costs[0].known), math.log10(costs[-1].known / costs[0].known)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {left + wide + 40} {top + high + 30}"'
        ' font-family="sans-serif" font-size="12" fill="#444">',
        f'<text x="{left}" y="14">microseconds of the server for a page of {LINKS} links, '
        "by the number of known URLs</text>",
    ]
    for us in range(0, most + 1, 100):
        y = top + high * (1 - us / most)
        parts.append(f'<path d="M{left} {y:.0f}h{wide}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.0f}" text-anchor="end">{us}</text>')
    places = [left + wide * (math.log10(one.known) - low) / span for one in costs]
    for x, one in zip(places, costs, strict=True):
        parts.append(
            f'<text x="{x:.0f}" y="{top + high + 18}" text-anchor="middle">{one.known:,}</text>'
        )
    for name, colour in COLOURS.items():
        heights = [top + high * (1 - one.shares()[name] / most) for one in costs]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        parts += [
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
            f'<text x="{left + 8}" y="{heights[0] - 6:.1f}" fill="{colour}">{name}</text>',
        ]
    return "\n".join([*parts, "</svg>\n"])
