"""The request as it is kept."""

import pytest

from gossamer.download.request_settings import REMOVED, page_fields, request_bytes
from gossamer.model import Url
from gossamer.policy.content_kinds import PAGES


@pytest.mark.req("D10")
def test_secrets_are_replaced_by_one_word_whatever_their_case() -> None:
    fields = [
        ("authorization", "Bearer xyz"),
        ("COOKIE", "a=xyz"),
        *page_fields(PAGES),
        ("X-Key", "xyz"),
    ]
    kept = request_bytes(Url("http://a.test/"), "G", fields, secret={"authorization", "cookie"})
    assert b"X-Key: xyz\r\n" in kept
    by_name = request_bytes(
        Url("http://a.test/"), "G", fields, secret={"authorization", "cookie", "x-key"}
    )
    assert b"xyz" not in by_name
    assert by_name.count(REMOVED.encode()) == 3


def test_what_is_secret_everywhere_needs_not_be_named() -> None:
    for name in ("Authorization", "Proxy-Authorization", "Cookie"):
        kept = request_bytes(Url("http://a.test/x"), "G", [(name, "xyz")])
        head = "GET /x HTTP/1.1\r\nHost: a.test\r\nUser-Agent: G\r\n"
        assert kept.decode() == f"{head}{name}: {REMOVED}\r\n\r\n"
