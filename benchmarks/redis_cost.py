"""What pages cost a crawl in Redis, as records, tables and a picture."""

import math
from collections.abc import Mapping, Sequence

import msgspec
from benchmarks.growing_web import LINKS

OF_URLS = {"known", "urls", "queued:", "unscored"}
OF_PAGES = {"attempts", "links", "linked", "pages", "contents", "kept", "bands", "samples"}
OF_PAGES |= {"results", "result-rows", "row-ages", "body-names", "body:"}
COLOURS = {"Redis": "#c60", "frontier": "#06c", "both": "#444"}


class Cost(msgspec.Struct, frozen=True):
    """What pages cost while so many URLs were known."""

    known: int
    pages: int
    server_s: float
    """CPU of the server."""
    frontier_s: float
    """CPU of this process, which is the frontier, and makes pages up."""
    page_bytes: float
    """Memory for each page, with the URLs that it made known."""
    commands: float
    """Commands for each page."""

    @property
    def server_us(self) -> float:
        """CPU of the server for a page, in µs."""
        return self.server_s * 1e6 / self.pages

    def shares(self) -> dict[str, float]:
        """Return the CPU for a page, in µs."""
        frontier_us = self.frontier_s * 1e6 / self.pages
        return {
            "Redis": self.server_us,
            "frontier": frontier_us,
            "both": self.server_us + frontier_us,
        }


class CostPair(msgspec.Struct, frozen=True):
    """One store beside a small one, in the same seconds."""

    cost: Cost
    small: Cost
    url_bytes: float
    """Memory for each URL that was made known before."""

    def growth(self) -> dict[str, float]:
        """Return how much more a page cost each of them than in the small store."""
        small = self.small.shares()
        return {name: us / small[name] for name, us in self.cost.shares().items()}


class Memory(msgspec.Struct, frozen=True):
    """Where the memory of a store went."""

    kinds: Mapping[str, int]
    """Bytes by kind of key."""
    known: int
    pages: int


def joined(costs: Sequence[Cost]) -> Cost:
    """Return what several stretches cost together."""
    pages = sum(one.pages for one in costs)
    return Cost(
        known=costs[0].known,
        pages=pages,
        server_s=sum(one.server_s for one in costs),
        frontier_s=sum(one.frontier_s for one in costs),
        page_bytes=sum(one.page_bytes * one.pages for one in costs) / pages,
        commands=sum(one.commands * one.pages for one in costs) / pages,
    )


def cost_table(pairs: Sequence[CostPair]) -> str:
    """Return the costs, and how many times those of the small store, as a table of Markdown."""
    lines = [
        f"| URLs known | {' | '.join(COLOURS)} | commands |",
        "|---:" * (len(COLOURS) + 2) + "|",
    ]
    for pair in pairs:
        one, growth = pair.cost, pair.growth()
        shares = " | ".join(
            f"{us:.0f} µs, {growth[name]:.2f} x" for name, us in one.shares().items()
        )
        lines.append(f"| {one.known:,} | {shares} | {one.commands:.2f} |")
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


def picture(pairs: Sequence[CostPair]) -> str:
    """Return the costs of a page over the number of known URLs, as SVG."""
    left, top, wide, high = 60, 20, 520, 260
    costs = [pair.cost for pair in pairs]
    smalls = [pair.small for pair in pairs]
    most = 100 * math.ceil(max(one.shares()["both"] for one in (*costs, *smalls)) * 1.2 / 100)
    low, span = math.log10(costs[0].known), math.log10(costs[-1].known / costs[0].known)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {left + wide + 70} {top + high + 30}"'
        ' font-family="sans-serif" font-size="12" fill="#444">',
        f'<text x="{left}" y="14">microseconds of CPU for a page of {LINKS} links, '
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
        for dash, ones in (("", costs), ("5 4", smalls)):
            heights = [top + high * (1 - one.shares()[name] / most) for one in ones]
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
            parts.append(
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"'
                f' stroke-dasharray="{dash}"/>'
            )
        y = top + high * (1 - costs[-1].shares()[name] / most)
        parts.append(f'<text x="{left + wide + 4}" y="{y + 4:.1f}" fill="{colour}">{name}</text>')
    words = f"dashed: a store of {smalls[0].known:,} URLs in the same seconds"
    parts.append(f'<text x="{left + 10}" y="{top + 16}">{words}</text>')
    return "\n".join([*parts, "</svg>\n"])
