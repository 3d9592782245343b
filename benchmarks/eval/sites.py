"""Real sites, and what is read of each: half of them were never looked at while anything was tuned.

All are Debian packages, which tools/fetch_docs.py unpacks.
"""

import random
from pathlib import Path

import msgspec
from benchmarks.eval.corpus import CACHE, MAX_BYTES

from gossamer.content.charset import decode
from gossamer.content.html_tree import HtmlTree
from gossamer.content.similarity import main_content_text
from gossamer.model import Url

BLOCK = 100
"""Of a large site so many neighbours are taken at a time: they are what may be similar."""
_URL = Url("http://site.example/")


class RealSite(msgspec.Struct, frozen=True):
    """A site, and where its pages are."""

    name: str
    generator: str
    folder: str
    parts: tuple[str, ...] = ("",)
    """The folders below it that are read."""
    unseen: bool = False
    """Nothing was tuned on it."""


class SitePage(msgspec.Struct, frozen=True):
    """A page of a site."""

    name: str
    body: bytes
    text: str
    own: str
    """The text of its own content."""


SITES = (
    RealSite(
        "Rust books",
        "mdBook",
        "rust-doc/rust-doc/html",
        (
            *("book", "reference", "nomicon", "rustc", "rustdoc", "embedded-book", "edition-guide"),
            *("rust-by-example", "unstable-book"),
        ),
    ),
    RealSite("Rust library", "rustdoc", "rust-doc/rust-doc/html", ("std", "core", "alloc")),
    RealSite("JDK 17", "javadoc", "openjdk-17-doc"),
    RealSite("glibmm 2.4", "Doxygen", "libglibmm-2.4-doc"),
    RealSite("Django", "Sphinx", "python-django-doc"),
    RealSite("PostgreSQL", "DocBook", "site"),
    RealSite("SQLite", "its own", "sqlite3-doc"),
    RealSite("Apache", "its own", "apache2-doc"),
    RealSite("Commons Math", "javadoc", "libcommons-math3-java-doc", unseen=True),
    RealSite("Eigen", "Doxygen", "libeigen3-doc", unseen=True),
    RealSite("CMake", "Sphinx", "cmake-doc", unseen=True),
    RealSite("LLVM", "Sphinx", "llvm-14-doc", unseen=True),
    RealSite("Octave", "texinfo", "octave-doc", unseen=True),
    RealSite("Maxima", "texinfo", "maxima-doc", unseen=True),
    RealSite("GHC", "Haddock", "ghc-doc", unseen=True),
    RealSite("ikiwiki", "a wiki", "ikiwiki", unseen=True),
)


def pages_of(site: RealSite, most: int) -> list[SitePage]:
    """Return pages of a site, at most so many: always the same ones."""
    folder = CACHE / site.folder
    found = (path for part in site.parts for path in (folder / part).rglob("*.html"))
    paths = sorted(path for path in found if path.stat().st_size <= MAX_BYTES)
    if len(paths) > most:
        blocks = [paths[at : at + BLOCK] for at in range(0, len(paths), BLOCK)]
        chosen = random.Random(1).sample(range(len(blocks)), most // BLOCK)  # noqa: S311  no secret
        paths = [path for at in sorted(chosen) for path in blocks[at]]
    return [_page(path.relative_to(folder).as_posix(), path) for path in paths]


def _page(name: str, path: Path) -> SitePage:
    return page_of(name, path.read_bytes())


def page_of(name: str, body: bytes) -> SitePage:
    """Return a page with everything that is compared of it."""
    text = HtmlTree(decode(body).text).take_unspaced_text()
    return SitePage(name, body, text, main_content_text(body, "text/html"))
