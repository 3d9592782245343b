"""`gossamer inspect` on a web of our own: what it shows of a page, and how it ends."""

import json
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from gossamer.testing import Reply, Web, min_gap_s

Command = Callable[..., CompletedProcess[str]]
Inspect = Callable[..., CompletedProcess[str]]


@pytest.fixture
def inspect(command: Command, web: Web) -> Inspect:
    """Inspect a path of a small site."""
    site = web.site("a.test")
    site.robots("User-agent: *\nDisallow: /private\nAllow: /ok")
    site.page("/", links=["/a", "/a", "http://b.test/", "mailto:x@y"], title="Home")
    site.redirect("/old", "/ok")
    site.page("/ok", title="OK")
    site.redirect("/out", "http://b.test/")
    site.redirect("/round", "/round2")
    site.redirect("/round2", "/round")
    site.redirect("/?utm_source=x", "/")
    site.status("/broken", 500)

    def run(path: str, *options: str) -> CompletedProcess[str]:
        return command("gossamer", "inspect", f"{web.base_url}{path}", *options)

    return run


def test_a_page_its_robots_txt_and_what_a_crawl_would_do_with_its_links(
    inspect: Inspect, web: Web
) -> None:
    finished = inspect("/")
    assert (finished.returncode, finished.stderr) == (0, "")
    url, robots, answer, *lines = finished.stdout.splitlines()
    assert url == f"{web.base_url}/"
    assert robots == "  robots    no rule is about this URL"
    assert answer.startswith("  answer    200 in ")
    assert answer.endswith(" ms from 127.0.0.1, text/html; charset=utf-8")
    assert lines == [
        "  outcome   fetched",
        "  page      278 bytes of html in utf-8, 5 words",
        "  title     'Home'",
        "  links     4, 3 different: 1 in scope, 1 out of scope, 1 no web address",
        f"    + {web.base_url}/a",
        "    - http://b.test/  (scope host: b.test is not one of the seeds' hosts)",
        "    ? 'mailto:x@y'",
    ]
    assert [record.path for record in web.requests] == ["/robots.txt", "/"]


def test_redirects_are_followed_politely_and_each_is_told(inspect: Inspect, web: Web) -> None:
    finished = inspect("/old", "--json")
    assert finished.returncode == 0
    report = json.loads(finished.stdout)
    old, new = report["hops"]
    assert (old["outcome"], old["status"], old["detail"]) == (
        *("redirected", 301),
        f"to {web.base_url}/ok",
    )
    assert (new["outcome"], new["status"], new["robots"]) == ("fetched", 200, "Allow: /ok (line 3)")
    assert (report["page"]["title"], report["page"]["encoding"]) == ("OK", "utf-8")
    gap = min_gap_s(web.requests)
    assert gap is not None
    assert gap >= 1.0


def test_so_is_one_to_another_spelling_of_the_same_page(inspect: Inspect) -> None:
    assert "title     'Home'" in inspect("/?utm_source=x").stdout


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/private", "robots denied: Disallow: /private (line 2)"),
        ("/out", "out of scope: it redirects to http://b.test/, which is out of scope"),
        ("/round", "/round, in a circle"),
        ("/missing", "not found: the server answered 404"),
        ("/broken", "server error: the server failed (500 Internal Server Error)"),
    ],
)
def test_a_page_that_is_not_to_be_had(inspect: Inspect, path: str, words: str) -> None:
    finished = inspect(path)
    assert (finished.returncode, finished.stderr) == (1, "")
    *_, last = finished.stdout.splitlines()
    assert last.startswith("  outcome   ")
    assert last.endswith(words)


def test_a_host_that_cannot_be_reached(command: Command) -> None:
    finished = command("gossamer", "inspect", "http://no-such-host.invalid/", "--json")
    assert finished.returncode == 1
    report = json.loads(finished.stdout)
    (hop,) = report["hops"]
    assert (hop["outcome"], hop["status"], report["page"]) == ("dns_failed", None, None)
    assert "could not be resolved" in hop["robots"]
    assert hop["robots"] == hop["detail"]


def test_a_page_may_keep_its_links_to_itself(inspect: Inspect, web: Web) -> None:
    headers = {"X-Robots-Tag": "nofollow"}
    web.site("a.test").reply("/shy", Reply(headers=headers, body=b"<a href=/b>b</a>"))
    assert "the page asks for its links not to be followed" in inspect("/shy").stdout
    marked = inspect("/", "--markers", "<!-- CONTENT -->").stdout
    assert "the page has no content markers, so no link counts" in marked


def test_what_is_no_url_is_refused(command: Command) -> None:
    finished = command("gossamer", "inspect", "example.org")
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "did you mean 'http://example.org'" in finished.stderr
