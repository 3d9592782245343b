"""The sites that everybody crawls, each with an independent list of its pages.

Three manuals out of Debian packages, and the synthetic web written to files. The list of a manual
is made by walking its files from the index, with another parser and other URL code than ours.
"""

import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
from benchmarks.peers.places import CACHE, ROOT
from fetch_docs import is_available, unpacked
from tests.webs.graph import GraphWeb

SMALL, LARGE, MANY, HOSTS = "small pages", "large pages", "many pages", "many hosts"
TITLES = {
    SMALL: "PostgreSQL manual",
    LARGE: "Python manual",
    MANY: "Rust documentation",
    HOSTS: "1,000 hosts of the synthetic web",
}

PYTHON_MANUALS = [(f"python3.{minor}-doc", f"python3.{minor}/html") for minor in (11, 12, 13, 14)]


@dataclass(frozen=True)
class CrawledSite:
    """A folder that is served, and what a crawl of it should fetch."""

    name: str
    folder: Path
    pages: frozenset[str]
    """Host, path and, on the synthetic web, query."""
    graph: GraphWeb | None = None
    """What the folder was made from; it has one folder for each host then."""

    @property
    def has_many_hosts(self) -> bool:
        """Whether it is a part of the synthetic web."""
        return self.graph is not None

    def page_of(self, request: str) -> str:
        """Return the page that was asked for by host and target."""
        if self.has_many_hosts:
            return request
        return unquote(request.partition("?")[0])

    @property
    def average_bytes(self) -> int:
        """The average size of a page."""
        if self.has_many_hosts:
            sizes = [file.stat().st_size for file in self.folder.rglob("*") if file.is_file()]
        else:
            paths = [page.partition("/")[2] for page in self.pages]
            sizes = [(self.folder / path).stat().st_size for path in paths]
        return round(sum(sizes) / len(sizes))


def site(name: str) -> CrawledSite:
    """Return the site of that name, fetched and listed if it was not yet."""
    if name == HOSTS:
        return synthetic_site(name, hosts=1000, pages=20_000)
    folder, make = {
        SMALL: (manual_folder(), _no_manual),
        LARGE: (CACHE / "python", _unpacker(*PYTHON_MANUALS)),
        MANY: (CACHE / "rust", _unpacker(("rust-doc", "rust-doc/html"))),
    }[name]
    if not folder.is_dir():
        print(f"fetching the site {name}, once", flush=True)
        make(folder)
    listed = CACHE / f"{folder.name}.txt"
    if name == SMALL:  # which may be another folder the next time
        return CrawledSite(name, folder, frozenset(_walk_manual(folder)))
    if not listed.is_file():
        print(f"listing the pages of {name}, once", flush=True)
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text("\n".join(sorted(_walk_manual(folder))), encoding="utf-8")
    return CrawledSite(name, folder, frozenset(listed.read_text(encoding="utf-8").splitlines()))


def synthetic_site(name: str, *, hosts: int, pages: int, skew: float = 0.8) -> CrawledSite:
    """Return a part of the synthetic web, written to files if it was not yet.

    Every page is found: nobody is to be measured by how long it waits for the others.
    """
    graph = GraphWeb(
        hosts=hosts,
        pages=pages,
        skew=skew,
        redirects=0,
        missing=0,
        failing=0,
        reset=0,
        silent=0,
        robots_hosts=0,
        slow_hosts=0,
    )
    folder = CACHE / f"hosts-{hosts}-{pages}"
    if not folder.is_dir():
        print(f"writing {pages:,} pages of the synthetic web, once", flush=True)
        _write_graph(graph, folder)
    found = frozenset(url.removeprefix("http://") for url in graph.reachable())
    return CrawledSite(name, folder, found, graph)


def manual_folder() -> Path:
    """Return the folder of the manual that the tests have as well."""
    return Path(os.environ.get("GOSSAMER_DOCS") or ROOT / ".cache" / "docs" / "site")


def _no_manual(folder: Path) -> None:
    raise SystemExit(f"no documentation site in {folder}: run make, or set GOSSAMER_DOCS")


def _unpacker(*manuals: tuple[str, str]) -> Callable[[Path], None]:
    """Return what unpacks the first of these packages that apt offers, from a folder inside."""

    def unpack(folder: Path) -> None:
        found = [manual for manual in manuals if is_available(manual[0])]
        if not found:
            raise FileNotFoundError(f"apt offers none of {', '.join(one for one, _ in manuals)}")
        package, inside = found[0]
        with unpacked(package) as documents, _partial(folder) as partial:
            # Links that lead out of the package are not part of the site.
            shutil.copytree(
                documents / inside, partial, symlinks=True, ignore=_symlinks, dirs_exist_ok=True
            )

    return unpack


def _symlinks(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder, name).is_symlink()]


def _write_graph(graph: GraphWeb, folder: Path) -> None:
    with _partial(folder) as partial:
        for page in range(graph.pages):
            host, path = graph.layout.locate(page)
            name = path[1:] or "index.html"
            file = partial / graph.layout.host_names[host] / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(graph.contents.html(page), encoding="utf-8")


@contextmanager
def _partial(folder: Path) -> Iterator[Path]:
    """Give a folder that gets its name when it is whole."""
    partial = folder.with_name(f".{folder.name}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    yield partial
    partial.rename(folder)


def _walk_manual(folder: Path) -> set[str]:
    """Return every HTML file that links lead to from the index."""
    origin = "http://127.0.0.1/"
    seen = {f"{origin}index.html"}
    line, found = deque(seen), set[str]()
    while line:
        url = line.popleft()
        path = unquote(urlsplit(url).path)
        file = folder / path[1:]
        if file.suffix != ".html" or not file.is_file():
            continue
        found.add(f"127.0.0.1{path}")
        for link in _links(file, url):
            if link.startswith(origin) and link not in seen:
                seen.add(link)
                line.append(link)
    return found


def _links(file: Path, url: str) -> Iterator[str]:
    document = lxml.html.fromstring(file.read_bytes())
    for href in {element.get("href") for element in document.iter("a", "area")}:
        if href:
            yield urljoin(url, href.strip()).partition("#")[0]
