"""`--revisit` from outside: whatever tells of the crawl tells visits from pages, and agrees."""

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from gossamer.testing import Reply, Web

CHANGING = ["/1", "/2", "/3"]
SLOW_S = 1.2
"""Longer than the time of --revisit: whatever the slow page links to is due by then."""


def describe(web: Web) -> None:
    """Describe a site of six pages; five of them are found again after their time."""
    site = web.site("127.0.0.1")
    site.page("/", [*CHANGING, "/gone", "/slow"])
    for path in CHANGING:
        site.reply(path, *(Reply(body=f"<p>version {one} of {path}") for one in (1, 2)))
    site.reply("/gone", Reply(body="<p>It was there."), Reply(status=404))
    links = "".join(f"<a href='{path}'>" for path in ["/", *CHANGING, "/gone"])
    site.reply("/slow", Reply(body=f"<p>slow{links}", delay_s=SLOW_S))


@pytest.mark.req("D11", "D14")
@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_visits_and_pages_are_told_apart(
    kind: str, command: Command, web: Web, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    describe(web)
    directory = tmp_path / "crawl"
    given = ["--module", "save", "--delay", "0s", "--revisit", "1s", "--similarity", "1"]
    where: list[object] = ["--dir", directory]
    if kind == "redis":
        where += ["--store", request.getfixturevalue("redis_url"), "--name", "revisited"]
    ended = command("gossamer", "crawl", f"{web.base_url}/", *given, *where)
    assert ended.returncode == 0, ended.stderr
    assert "Crawled 6 pages, 10 visits in " in ended.stderr
    assert "save: 10 visits" in ended.stderr
    asked = Counter(one.path for one in web.requests if one.path != "/robots.txt")
    assert asked == {"/": 2, **dict.fromkeys(CHANGING, 2), "/gone": 2, "/slow": 1}

    status = json.loads(command("gossamer", "status", *where, "--json").stdout)
    assert (status["pages"], status["visits"], status["finished"]) == (6, 10, 6)
    assert status["outcomes"] == {"fetched": 5, "not_found": 1}
    assert sum(depth["pages"] for depth in status["depths"]) == 6
    listed = command("gossamer", "pages", *where, "--json").stdout.splitlines()
    pages = [json.loads(line) for line in listed]
    assert [page["id"] for page in pages] == [1, 2, 3, 4, 5, 6]
    assert sum(page["visits"] for page in pages) == 10

    files = {int(file.name): file.read_text() for file in (directory / "pages").iterdir()}
    assert files.keys() == {1, 2, 3, 4, 5, 6}
    for page in pages:
        path = page["url"].removeprefix(web.base_url)
        url, _, body = files[page["id"]].split("\n", 2)
        assert url == page["url"]
        if path in CHANGING:
            assert body == f"<p>version 2 of {path}"
    shown = command("gossamer", "pages", *where, "--cat", 2)
    assert shown.stdout == files[2].split("\n", 2)[2]
    checked = command("gossamer", "verify", *where)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "on 6 pages, 10 visits" in checked.stdout


def test_the_retired_option_is_explained(command: Command) -> None:
    ended = command("gossamer", "crawl", "http://a.test/", "--ttl", "5s")
    assert ended.returncode == 2
    assert ended.stderr == (
        "gossamer: the option 'ttl' is now two: --revisit TIME fetches a URL again if a link to it "
        "is found after that time, and --keep TIME says how long bodies are kept\n"
    )
