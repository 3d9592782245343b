"""Pictures for the pages, as SVG, readable on a light and on a dark ground."""

from collections.abc import Sequence
from html import escape

_STYLE = """<style>
text { fill: #24292f; font: 13px sans-serif } .title { font-weight: bold }
.faint { fill: #6e7781 } .grid { stroke: #d0d7de }
.a { fill: #0969da; stroke: #0969da } .b { fill: #8c959f; stroke: #8c959f }
.c { fill: #bf3989; stroke: #bf3989 } .d { fill: #1a7f37; stroke: #1a7f37 }
.frame { fill: none; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
}
</style>"""


class Drawing:
    """A picture that grows by shapes; colours are the classes a, b, c and d."""

    def __init__(self, width: int, height: int) -> None:
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}">',
            _STYLE,
        ]

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", kind: str = ""
    ) -> None:
        """Write some words."""
        self._parts.append(
            f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" class="{kind}">'
            f"{escape(words)}</text>"
        )

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a filled rectangle."""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"'
            f' class="{colour}" stroke="none"/>'
        )

    def level(self, x: float, y: float, width: float) -> None:
        """Draw a horizontal line of the grid."""
        self._parts.append(f'<path d="M{x:.1f} {y:.1f}h{width:.1f}" class="grid"/>')

    def curve(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Draw a line through points, with a dot at each."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(f'<polyline points="{path}" class="{colour} frame"/>')
        self._parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{colour}"/>' for x, y in points
        ]

    def svg(self) -> str:
        """Return the picture as a file."""
        return "\n".join([*self._parts, "</svg>", ""])
