"""`gossamer crawl --cookies` as people type it: no command shows a cookie."""

from pathlib import Path

import pytest
from tests.cli.conftest import Command

from gossamer.testing import Reply, Web

SECRET = "tasty-and-secret"  # noqa: S105 -- that of a cookie


@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_no_command_shows_a_cookie(
    web: Web, command: Command, tmp_path: Path, store: str, request: pytest.FixtureRequest
) -> None:
    def page(_: str) -> Reply:
        if SECRET in (web.requests[-1].headers.get("cookie") or ""):
            return Reply(body="<a href='/next'>next</a>")
        return Reply(status=302, headers={"Location": "/set"})

    site, base = web.site("a.test"), web.base_url
    site.under("/page", page)
    site.page("/next")
    cookie = {"Location": "/page", "Set-Cookie": f"session={SECRET}; Path=/"}
    site.reply("/set", Reply(status=302, headers=cookie))
    place: list[object] = ["--dir", tmp_path / "crawl"]
    if store == "redis":
        place = ["--store", request.getfixturevalue("redis_url"), "--name", "with-cookies"]
    ended = command("gossamer", "crawl", f"{base}/page", *place, "--delay", "0s", "--cookies", "-v")
    assert ended.returncode == 0, ended.stderr
    assert "Crawled 2 pages" in ended.stderr
    shown = [ended.stdout, ended.stderr]
    for words in (["status"], ["status", "--json"], ["explain", f"{base}/page"], ["pages"]):
        told = command("gossamer", *words, *place)
        assert told.returncode == 0, told.stderr
        shown += [told.stdout, told.stderr]
    assert "redirected" in shown[6]
    assert "fetched" in shown[6]
    assert not any(SECRET in text for text in shown)
    verified = command("gossamer", "verify", *place)
    assert verified.returncode == 0, verified.stdout
