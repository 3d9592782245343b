"""`gossamer retry`: failed URLs are tried again, and everything else stays as it is."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer import UsageError
from gossamer.cli.resume import retry
from gossamer.testing import Reply, Web

Gossamer = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.req("D8", "D16")
def test_what_has_failed_is_tried_again(
    gossamer: Gossamer, web: Web, crawl: list[str], tmp_path: Path
) -> None:
    site, down = web.site("a.test"), Reply(status=500)
    site.page("/", links=["/good", "/late", "/gone"])
    site.page("/good")
    site.reply("/late", down, down, Reply(body="<a href='/behind'>at last</a>"))
    site.reply("/gone", Reply(status=404), Reply(body="it is back"))
    site.page("/behind")
    host, port = web.address
    save = ["--module", "save", *([] if "--dir" in crawl else ["--dir", "a crawl"])]

    def run(*words: object) -> tuple[str, dict[str, Any]]:
        """Return what was said, and the last counts of the crawl."""
        finished = gossamer(*words, "--log-format", "json")
        assert finished.returncode == 0, finished.stderr
        return finished.stderr, json.loads(finished.stderr.splitlines()[-1])

    _, summary = run("crawl", f"http://{host}:{port}/", *crawl, "--delay", "0s", *save)
    assert summary["outcomes"] == {"fetched": 2, "not_found": 1, "server_error": 1}
    said, summary = run("retry", *crawl, "--host", "elsewhere.test")
    assert "0 failed URLs to try again" in said
    assert (summary["was_over"], summary["pages"]) == (True, 2)
    said, summary = run("retry", *crawl)
    assert "1 failed URL to try again" in said
    assert summary["outcomes"] == {"fetched": 4, "not_found": 1}
    assert (summary["pages"], summary["new_pages"]) == (4, 2)
    _, summary = run("retry", *crawl, "--outcome", "not-found,gone", "--host", host)
    assert (summary["outcomes"], summary["waiting"]) == ({"fetched": 5}, 0)
    checked = gossamer("verify", *crawl)
    assert checked.returncode == 0, checked.stdout
    asked = Counter(record.path for record in web.requests if record.path != "/robots.txt")
    assert asked == {"/": 1, "/good": 1, "/late": 3, "/gone": 2, "/behind": 1}
    saved = [one.read_bytes().split(b"\n") for one in (tmp_path / "a crawl" / "pages").iterdir()]
    assert sorted(int(depth) for _, depth, *_ in saved) == [0, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("fetched", "what was fetched has not failed"), ("lost", "there is no outcome 'lost'")],
)
def test_what_has_not_failed_is_refused(outcome: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        retry(outcome=(outcome,))
