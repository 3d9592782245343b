import pytest

from gossamer.model import Url
from gossamer.urls import authority, host_key, host_of, location


@pytest.mark.req("F3", "C6")
@pytest.mark.parametrize(
    ("url", "host", "key", "place", "origin"),
    [
        ("http://a/", "a", "a", "a", "http://a"),
        ("https://a.example/x:1/", "a.example", "a.example", "a.example", "https://a.example"),
        (
            "http://a.example:8080/",
            "a.example",
            "a.example",
            "a.example:8080",
            "http://a.example:8080",
        ),
        ("http://a.example./", "a.example.", "a.example", "a.example", "http://a.example."),
        (
            "https://a.example.:81/",
            "a.example.",
            "a.example",
            "a.example:81",
            "https://a.example.:81",
        ),
        ("http://127.0.0.1:1/", "127.0.0.1", "127.0.0.1", "127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://[::1]/", "[::1]", "[::1]", "[::1]", "http://[::1]"),
        ("https://[::1]:8443/", "[::1]", "[::1]", "[::1]:8443", "https://[::1]:8443"),
    ],
)
def test_the_parts_of_a_url(url: str, host: str, key: str, place: str, origin: str) -> None:
    assert host_of(Url(url)) == host
    assert host_key(Url(url)) == key
    assert location(Url(url)) == place
    assert authority(Url(url)) == origin
