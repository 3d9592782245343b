"""Profiles as people type them."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gossamer.testing import Reply, Web

if TYPE_CHECKING:
    from tests.cli.conftest import Command


def marked(*links: str, outside: str = "") -> Reply:
    inside = "".join(f"<a href='{link}'>{link}</a>" for link in links)
    mark = "<!-- CONTENT -->"
    return Reply(body=f"<a href='{outside or '/'}'>menu</a>{mark}{inside}{mark}")


@pytest.mark.req("F1", "F2", "F3", "F6", "F8")
def test_the_focused_crawler_is_one_word(command: "Command", web: Web, tmp_path: Path) -> None:
    site = web.site("127.0.0.1")
    site.reply("/", marked("/1.html", "/30.html", "http://elsewhere.test/", outside="/menu.html"))
    site.reply("/1.html", marked())
    site.reply("/30.html", marked("/2.html", "/missing.html"))
    site.reply("/2.html", marked())
    done = command(
        "gossamer", "crawl", f"{web.base_url}/", "--profile", "focused", "--delay", "0s",
        "--dir", tmp_path / "crawl",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    asked = [request.path for request in web.requests if request.path != "/robots.txt"]
    assert asked == ["/", "/30.html", "/2.html", "/1.html", "/missing.html"]


@pytest.mark.req("D1", "D14")
def test_a_profile_is_shown_and_what_is_given_beside_it_wins(
    command: "Command", tmp_path: Path
) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[profiles.mine]\ndelay = '7s'\nmax-pages = 5\n", encoding="utf-8")
    shown = command("gossamer", "config", "--profile", "web", "--max-pages", "7").stdout
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines()}
    assert rows["max-bytes"] == ["50MB", "profile", "web"]
    assert rows["similar-links"] == ["ignore", "profile", "web"]
    assert rows["max-pages"] == ["7", "--max-pages"]
    shown = command("gossamer", "config", "--config", own, GOSSAMER_PROFILE="mine").stdout
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines()}
    assert rows["delay"] == ["7s", "profile", "mine"]


@pytest.mark.req("C5", "C7")
def test_the_classic_profile_saves_what_the_classic_crawler_saves(
    command: "Command", web: Web, pages: Path, tmp_path: Path
) -> None:
    site = web.site("127.0.0.1")
    site.page("/", links=["/a", "/b", "/a"])
    site.page("/a", links=["/c"])
    site.page("/b", html="<p>the same</p>")
    site.page("/c", html="<p>the same</p>", links=["/d"])
    site.page("/d")
    seed = f"{web.base_url}/"
    classic = command("crawler", seed, pages, 2, CRAWLER_INTERNAL=seed)
    assert classic.returncode == 0, classic.stderr
    folder = tmp_path / "crawl"
    options = ["--profile", "classic", "--depth", 2, "--delay", "0s", "--dir", folder]
    done = command("gossamer", "crawl", seed, *options)
    assert done.returncode == 0, done.stderr

    def saved(where: Path) -> list[bytes]:
        return sorted(file.read_bytes() for file in where.glob("[0-9]*"))

    assert saved(folder / "pages") == saved(pages)
    assert len(saved(pages)) == 4
