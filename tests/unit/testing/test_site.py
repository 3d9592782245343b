from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.errors import UsageError
from gossamer.testing import Raw, Reply, Site, Web

Get = Callable[..., Any]


def test_a_page_has_its_links_title_and_text_escaped(web: Web, get: Get) -> None:
    web.site("a.test").page("/", links=["/b?x=1&y=2", 'http://b.test/"'], title="A<B", text="1 & 2")
    answer = get("/")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    body = answer.body.decode()
    assert '<a href="/b?x=1&amp;y=2">' in body
    assert '<a href="http://b.test/&quot;">' in body
    assert "<title>A&lt;B</title>" in body
    assert "<p>1 &amp; 2</p>" in body


@pytest.mark.parametrize("html", ["<p>né", "<p>né".encode("latin-1"), ""])
def test_a_page_may_be_given_as_it_is(web: Web, get: Get, html: str | bytes) -> None:
    web.site("a.test").page("/", html=html)
    assert get("/").body == (html.encode() if isinstance(html, str) else html)


def test_redirect(web: Web, get: Get) -> None:
    site = web.site("a.test")
    site.redirect("/old", "/new")
    site.redirect("/other", "http://b.test/é", status=307)
    assert (get("/old").status, get("/old").headers["location"]) == (301, "/new")
    assert get("/other").status == 307
    # http.client reads header bytes as latin-1; what went over the wire is UTF-8.
    assert get("/other").headers["location"].encode("latin-1") == "http://b.test/é".encode()


def test_status(web: Web, get: Get) -> None:
    web.site("a.test").status("/", 503, headers={"Retry-After": "2"})
    assert (get("/").status, get("/").headers["retry-after"]) == (503, "2")


def test_successive_answers_and_the_last_repeats(web: Web, get: Get) -> None:
    site = web.site("a.test")
    last = Raw([b"HTTP/1.1 200 OK\r\n\r\nlast"])
    site.reply("/", Reply(status=503), Reply(status=429), last)
    assert [get("/").status for _ in range(4)] == [503, 429, 200, 200]
    site.page("/", html="described again")
    assert get("/").body == b"described again"


def test_robots(web: Web, get: Get) -> None:
    site = web.site("a.test")
    assert get("/robots.txt").status == 404
    site.robots("User-agent: *\nDisallow: /private/")
    answer = get("/robots.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body == b"User-agent: *\nDisallow: /private/"


def test_a_path_answers_any_query_unless_that_query_has_its_own_answer(web: Web, get: Get) -> None:
    site = web.site("a.test")
    site.page("/x", html="any")
    site.page("/x?y=1", html="one")
    assert [get(path).body for path in ("/x", "/x?y=2", "/x?y=1")] == [b"any", b"any", b"one"]
    assert [record.path for record in web.requests] == ["/x", "/x?y=2", "/x?y=1"]


def test_a_function_answers_whatever_begins_with_its_prefix(web: Web, get: Get) -> None:
    site = web.site("a.test")

    def calendar(target: str) -> Reply | None:
        month = int(target.rpartition("=")[2])
        return Reply(body=f'<a href="/calendar?month={month + 1}">') if month < 1000 else None

    site.under("/calendar", calendar)
    site.under("/calendar/today", lambda _: Reply(body="the longest prefix wins"))
    site.page("/calendar?month=7", html="a path of its own wins")
    assert get("/calendar?month=41").body == b'<a href="/calendar?month=42">'
    assert get("/calendar?month=1000").status == 404
    assert get("/calendar/today?").body == b"the longest prefix wins"
    assert get("/calendar?month=7").body == b"a path of its own wins"


def test_mistakes_in_a_description_are_reported_at_once(tmp_path: Path) -> None:
    site = Site("a.test")
    with pytest.raises(UsageError, match="must start with a slash"):
        site.page("index.html")
    with pytest.raises(UsageError, match="at least one answer"):
        site.reply("/")
    with pytest.raises(UsageError, match="must end with a slash"):
        site.folder("/docs", tmp_path)
    with pytest.raises(UsageError, match="no directory"):
        site.folder("/", tmp_path / "nowhere")
