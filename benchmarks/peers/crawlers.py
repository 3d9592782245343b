"""The crawlers that take part, and how each is told to do the same work.

Start at the index, follow every link to a page of the site, fetch each page once, obey robots.txt,
no delay, sixteen connections. What is not said here is left as it is by default.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.peers.counting import COMMAND, count_files, count_items, count_kept
from benchmarks.peers.measuring import ENVIRONMENT, Crawler
from benchmarks.peers.nginx import SiteServer
from benchmarks.peers.places import CACHE, ROOT
from debian_program import find_program

AT_ONCE = "16"
HERE = Path(__file__).resolve().parent
VENV = CACHE / "venv"
PYTHON_PEERS = ("scrapy==2.19.0", "crawlee[parsel]==1.11.0")

GOSSAMER = "Gossamer"
GOSSAMER_ON = "Gossamer, near duplicates too"
GOSSAMER_JSONL = "Gossamer, -o pages.jsonl"
SCRAPY, SCRAPY_BY_HAND = "Scrapy, LinkExtractor", "Scrapy, hand-made links"
CRAWLEE, CRAWLEE_BY_HAND = "Crawlee, enqueue_links", "Crawlee, hand-made links"
WGET2, HTTRACK, COLLY = "wget2", "httrack", "Colly"


def gossamer(name: str, *options: str) -> Crawler:
    """Return Gossamer with these options."""

    def command(server: SiteServer, folder: Path) -> Sequence[str]:
        filled = [option.format(folder=folder) for option in options]
        if server.site.has_many_hosts:
            return (sys.executable, str(HERE / "crawl_hosts.py"), server.authority, *filled)
        return (
            *(COMMAND, "crawl", server.seed, "--dir", f"{folder}/crawl", "--quiet"),
            *("--delay", "0s", "--host-connections", AT_ONCE, "--connections", AT_ONCE),
            *("--max-pages", "1000000", "--max-bytes", "100GB", *filled),
        )

    return Crawler(name, command, count_kept, is_ours=True)


OURS = {
    GOSSAMER: gossamer(GOSSAMER, "--similarity", "off"),
    GOSSAMER_ON: gossamer(GOSSAMER_ON),
    GOSSAMER_JSONL: gossamer(GOSSAMER_JSONL, "--similarity", "off", "-o", "{folder}/pages.jsonl"),
}


def crawlers(names: Sequence[str]) -> Iterator[Crawler]:
    """Give those of these names that can be had; say which cannot."""
    for name in names:
        found = OURS.get(name) or PEERS[name](name)
        if found is None:
            print(f"{name} is left out: it can neither be found nor fetched here", flush=True)
        else:
            yield found


def _python_peer(name: str) -> Crawler | None:
    if not install_python_peers():
        return None
    program = HERE / ("peer_scrapy.py" if name.startswith("Scrapy") else "peer_crawlee.py")
    kind = "hand-made" if "hand-made" in name else "documented"

    def command(server: SiteServer, folder: Path) -> Sequence[str]:
        python = [str(VENV / "bin" / "python"), str(program), kind, server.seed]
        words = [*python, f"{folder}/items.jsonl"]
        proxy = server.proxy if server.site.has_many_hosts else None
        if program.name == "peer_crawlee.py":
            return [*words, proxy or "none"]
        return ["env", f"http_proxy={proxy}", *words] if proxy else words

    return Crawler(name, command, count_items)


def _wget2(name: str) -> Crawler | None:
    program = find_program("wget2", "wget2", CACHE)
    if program is None:
        return None

    def command(server: SiteServer, folder: Path) -> Sequence[str]:
        proxy = ("-H", f"--http-proxy={server.proxy}") if server.site.has_many_hosts else ()
        return (
            *(str(program), "--quiet", "--recursive", "--level=0", f"--max-threads={AT_ONCE}"),
            # Only what links lead to, not what pages are made of.
            "--ignore-tags=img,link,script,style,object,embed,source,video,audio,iframe,input",
            *(*proxy, "--directory-prefix", f"{folder}/files", server.seed),
        )

    # 8: there were links to pages that are missing.
    return Crawler(name, command, count_files, exit_codes=(0, 8))


def _httrack(name: str) -> Crawler | None:
    program = find_program("httrack", "httrack", CACHE)
    if program is None:
        return None

    def command(server: SiteServer, folder: Path) -> Sequence[str]:
        everywhere = ("-e", "-P", server.authority) if server.site.has_many_hosts else ()
        return (
            *(str(program), server.seed, "-O", f"{folder}/files", "--quiet"),
            # HTML only (-p1); no limits on connections and rate, which its manual calls abuse
            # where the server is not one's own.
            *("-p1", f"-c{AT_ONCE}", "-%!", "-A0", "-%c0", "-I0", *everywhere),
        )

    return Crawler(name, command, count_files)


def _colly(name: str) -> Crawler | None:
    """Return the program that COLLY names: no package has one, and modules of Go are elsewhere."""
    program = ENVIRONMENT.get("COLLY")
    if program is None:
        print("no package has Colly; COLLY=PROGRAM names a program made with it")
        return None

    def command(server: SiteServer, folder: Path) -> Sequence[str]:
        return (program, server.seed, f"{folder}/items.jsonl", AT_ONCE)

    return Crawler(name, command, count_items)


PEERS: dict[str, Callable[[str], Crawler | None]] = {
    SCRAPY: _python_peer,
    SCRAPY_BY_HAND: _python_peer,
    CRAWLEE: _python_peer,
    CRAWLEE_BY_HAND: _python_peer,
    WGET2: _wget2,
    HTTRACK: _httrack,
    COLLY: _colly,
}
NAMES = (*OURS, *PEERS)


def install_python_peers() -> bool:
    """Make the peers' own environment, the first time; nothing of it enters ours."""
    ready = VENV / f".{'-'.join(PYTHON_PEERS)}"
    if not ready.exists():
        print(f"installing {' and '.join(PYTHON_PEERS)} in {VENV.relative_to(ROOT)}, once")
        pip = [str(VENV / "bin" / "pip"), "install", "-qq", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
            subprocess.run([*pip, *PYTHON_PEERS], check=True)
        except subprocess.CalledProcessError as error:
            print(f"not installed: {error}")
            return False
        ready.touch()
    return True
