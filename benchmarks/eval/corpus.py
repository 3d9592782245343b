"""Real pages: the manuals that tools/fetch_docs.py unpacks."""

import random
from pathlib import Path

import msgspec
import turbohtml

from gossamer.content.charset import decode
from gossamer.content.html_tree import HtmlTree

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "docs"
MAX_PAGES = 1_200
"""Of a larger manual a random choice is taken."""
MAX_BYTES = 400_000

MANUALS = (
    *("apache2-doc", "libglibmm-2.4-doc", "libglibmm-2.68-doc", "openjdk-17-doc"),
    *("python-django-doc", "site", "sqlite3-doc"),
)
"""The manuals on which definitions are compared."""

_FRAME = "nav, header, footer, aside, [role=navigation], [role=banner], [role=contentinfo]"


class ManualPage(msgspec.Struct, frozen=True):
    """A page of a manual."""

    name: str
    """Its path below the folder of the manual."""
    text: str
    core: str
    """The text without what is marked as the frame of the page: menus, header, footer."""


def manuals(only: str | None = None) -> dict[str, list[ManualPage]]:
    """Return the pages of each manual that is there, or of one, by the name of its folder."""
    read = {name: _pages(CACHE / name) for name in MANUALS if only in (None, name)}
    return {name: pages for name, pages in read.items() if pages}


def _pages(folder: Path) -> list[ManualPage]:
    paths = sorted(folder.rglob("*.html"))
    if len(paths) > MAX_PAGES:
        # Always the same pages.
        paths = sorted(random.Random(1).sample(paths, MAX_PAGES))  # noqa: S311  no secret
    paths = [path for path in paths if path.stat().st_size <= MAX_BYTES]
    return [_page(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]


def _page(name: str, body: bytes) -> ManualPage:
    document = turbohtml.parse(body)
    document.remove(_FRAME)
    return ManualPage(name, _text(body), _text(document.serialize().encode()))


def _text(body: bytes) -> str:
    return HtmlTree(decode(body).text).take_unspaced_text()
