"""The picture of memory over time."""

import math
from collections.abc import Sequence

from benchmarks.soak.measure import Sample

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 40
LINES = {"all": "#06c", "coordinator": "#c60", "worker": "#393", "server": "#909"}
"""Processes and their colours."""


def draw(samples: Sequence[Sample], title: str, warm_up_s: float) -> str:
    """Return the memory of a crawl over time as SVG."""
    last_s = max(one.at_s for one in samples) or 1.0
    top_mb = 100 * math.ceil(max(one.memory_mb for one in samples) / 100 + 0.2)

    def x(at_s: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * at_s / last_s

    def y(memory_mb: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * memory_mb / top_mb

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="14">{title}</text>',
    ]
    for line_mb in range(0, top_mb + 1, 100):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(line_mb):.1f}" y2="{y(line_mb):.1f}" '
            f'stroke="#ddd"/><text x="{LEFT - 8}" y="{y(line_mb) + 4:.1f}" text-anchor="end">'
            f"{line_mb} MB</text>"
        )
    for minute in range(int(last_s // 60) + 1):
        parts.append(
            f'<text x="{x(60 * minute):.1f}" y="{HEIGHT - 18}" text-anchor="middle">{minute}</text>'
        )
    parts += [
        f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">minutes</text>',
        f'<line x1="{x(warm_up_s):.1f}" x2="{x(warm_up_s):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
        'stroke="#999" stroke-dasharray="4"/>',
        f'<text x="{x(warm_up_s) + 4:.1f}" y="{TOP + 12}" fill="#666">after warm-up</text>',
    ]
    for number, (label, colour) in enumerate(LINES.items()):
        figures = [one.of(label) for one in samples]
        if any(figures):
            points = " ".join(
                f"{x(one.at_s):.1f},{y(figure):.1f}"
                for one, figure in zip(samples, figures, strict=True)
            )
            parts += [
                f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
                f'<text x="{LEFT + 90 * number}" y="{HEIGHT - 4}" fill="{colour}">{label}</text>',
            ]
    return "\n".join([*parts, "</svg>\n"])
