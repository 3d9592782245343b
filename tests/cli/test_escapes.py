"""Nothing that a page, a server or a module says steers a terminal: every command is tried."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_commands import ForkedCommands

from gossamer.cli.main import COMMANDS
from gossamer.testing import Raw, Reply, Web

EVIL = (
    "\x1b]0;mine\x07 \x1b]8;;http://x/\x1b\\ \x1b]52;c;QQ==\x07 \x9b2J \x7f \x85 \u202egone\u2066 "
    "\u2028 \U000e0041"
)
"""Titles, links, clipboards of terminals; C1, DEL, bidi controls, other lines, invisible tags."""
LINES = f"{EVIL}\r\nforged: line\x00"
ALLOWED = {"\n"}

MODULE = f"""
def fail(page):
    raise ValueError({LINES!r} + page.title)
"""
MODULE_FILE, EVIL_FILE = "mine.py", "evil \x1b]0;mine\x07\u202e.py"
FOLDER = "crawl"

NO_STORE = ["--store", f"redis://127.0.0.1:1/{EVIL}"]
"""A store that cannot be reached: what is said about it quotes its address."""


class HostileCrawl:
    """The crawl of a site whose every text is hostile."""

    def __init__(self, folder: Path, web: Web, forked: ForkedCommands) -> None:
        self._forked = forked
        self.folder = folder
        self.home = f"{web.base_url}/"
        crawl = ["--dir", FOLDER]
        module, evil = (["--module", f"{name}:fail"] for name in (MODULE_FILE, EVIL_FILE))
        self.calls: dict[str, list[list[str]]] = {
            "crawl": [
                [self.home, *module, *SWIFT, "--verbose", "--dir", FOLDER],
                [self.home, *module, *SWIFT, "--verbose", "--log-format", "json", "--dir", "json"],
                [self.home, "--dir", EVIL, *evil],
            ],
            "resume": [[FOLDER, "--verbose"], [EVIL]],
            "retry": [[FOLDER, "--verbose"]],
            "replay": [[FOLDER, *module], [FOLDER, *evil]],
            "status": [crawl, [*crawl, "--json"]],
            "pages": [crawl, [*crawl, "--json"], [*crawl, "--all"], [*crawl, "--all", "--json"]],
            "export": [[FOLDER, "-o", f"{EVIL}.jsonl"]],
            "explain": [
                [self.home + path, *crawl, *how]
                for path in ("forbidden", "redirect", "broken", "type")
                for how in ([], ["--json"])
            ],
            "crawls": [[], ["--json"]],
            "frontier": [NO_STORE],
            "worker": [NO_STORE],
            "health": [NO_STORE],
            "verify": [crawl, [*crawl, "--json"]],
            "config": [[self.home, "--contact", EVIL], [self.home, *evil, "--json"]],
            "modules": [[], ["--json"]],
            "scorers": [[], ["--json"]],
            "inspect": [[f"{self.home}type"], [f"{self.home}type", "--json"]],
            "web": [["--fault", EVIL], ["--list-faults"]],
            "demo": [["--depth", EVIL]],
        }

    def call(self, *words: str) -> tuple[str, str]:
        """Run a command; NUL cannot be an argument."""
        done = self._forked.run(["gossamer", *words], cwd=self.folder, env=os.environ)
        return done.stdout, done.stderr


SWIFT = ["--delay", "0s", "--retries", "0", "--allow-network", "127.0.0.0/8", "--similarity", "off"]


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, forked: ForkedCommands
) -> Iterator[HostileCrawl]:
    folder = tmp_path_factory.mktemp("escapes")
    for name in (MODULE_FILE, EVIL_FILE):
        folder.joinpath(name).write_text(MODULE)
    with Web() as web:
        home = web.site("a.test")
        links = ["/type", "/redirect", "/broken", "/forbidden", f"/a{EVIL}", f"javascript:{EVIL}"]
        home.page("/", links, title=EVIL, text=EVIL)
        home.page("/%1B%5D0;x", title=EVIL)
        evil_type = {"Content-Type": f"text/html; charset=utf-8; x={EVIL}", "Server": EVIL}
        home.reply("/type", Reply(headers=evil_type, body=f"<title>{EVIL}</title>{EVIL}"))
        home.redirect("/redirect", f"http://{EVIL}/")
        home.reply("/broken", Raw([f"HTTP/1.1 200 {EVIL}\r\nBad {EVIL}\r\n\r\n".encode()]))
        home.robots(f"User-agent: *\nDisallow: /forbidden\nDisallow: /{EVIL}\nSitemap: {EVIL}\n")
        found = HostileCrawl(folder, web, forked)
        ended = found.call("crawl", *found.calls["crawl"][0])
        assert steering("".join(ended)) == set()
        yield found


def steering(text: str) -> set[str]:
    return {one for one in text if not one.isprintable()} - ALLOWED


@pytest.mark.req("D19", "F5")
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_what_steers_a_terminal(site: HostileCrawl, command: str) -> None:
    for words in site.calls[command]:
        out, err = site.call(command, *words)
        assert out or err, words
        assert steering(out) == steering(err) == set(), (words, out, err)


@pytest.mark.req("D19")
def test_json_has_the_values_unchanged(site: HostileCrawl) -> None:
    def read(*words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in site.call(*words)[0].splitlines()]

    (report,) = read("inspect", f"{site.home}type", "--json")
    assert "\x9b2J" in report["hops"][0]["content_type"].encode("latin-1").decode()
    titles = [page["title"] for page in read("pages", "--dir", FOLDER, "--json")]
    assert any("\u202egone\u2066" in title and "\x9b" in title for title in titles)
