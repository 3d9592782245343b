"""Rules for single hosts: what a file may say, which rule applies, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config import CrawlOptions, HostTable, load
from gossamer.config.host_rules import HostPattern
from gossamer.config.values import BadValueError
from gossamer.coordinator.resume import pack_options, unpack_options
from gossamer.model.errors import UsageError

TOML = """
delay = "1s"

[host."*.example.org"]
delay = "5s"
max-pages = 10
header = ["X-Team: search"]
proxy = "socks5://127.0.0.1:1080"
proxy-auth = "env:PROXY_LOGIN"

[host."www.example.org"]
delay = "2s"
proxy = "none"

[host."https://www.example.org:8443"]
auth = "env:SITE_TOKEN"
http2 = true
"""


def table(tables: dict[str, dict[str, Any]]) -> HostTable:
    return HostTable.of(CrawlOptions(host=tables).host)


def refusal(tables: object) -> str:
    with pytest.raises(UsageError) as caught:
        CrawlOptions(host=tables)  # type: ignore[arg-type]  # what a file may hold
    return str(caught.value)


def test_the_most_specific_rule_wins_key_by_key(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    file.write_text(TOML, encoding="utf-8")
    loaded = load({}, {}, file)
    assert loaded.origins["host"].startswith(str(file))
    rules = HostTable.of(loaded.options.host)
    www = rules.rules_for("www.example.org")
    assert (www.delay_s, www.max_pages, www.header) == (2.0, 10, ("X-Team: search",))
    assert (rules.rules_for("a.b.example.org").delay_s, rules.rules_for("example.org")) == (
        5.0,
        rules.rules_for("other.test"),
    )
    origin = rules.explain("www.example.org", "https", 8443)
    assert (origin.rules.auth, origin.rules.http2, origin.rules.delay_s) == (
        "env:SITE_TOKEN",
        True,
        2.0,
    )
    assert str(origin.patterns["header"]) == "*.example.org"


def test_what_belongs_together_comes_from_one_rule() -> None:
    """A proxy's password is not used with another proxy, nor with none."""
    rules = table(
        {
            "*.a.test": {"proxy": "http://one.test:1", "proxy-auth": "env:ONE", "auth": "env:A"},
            "b.a.test": {"proxy": "http://two.test:2", "auth": "file:/secret"},
        }
    )
    found = rules.rules_for("b.a.test", "https", 443)
    assert (found.proxy, found.proxy_auth) == ("http://two.test:2", None)
    assert found.auth == "file:/secret"


@pytest.mark.parametrize(
    ("pattern", "origin", "gets"),
    [
        ("a.test", ("https", 443), True),
        ("a.test", ("http", 80), False),
        ("a.test", ("https", 8443), False),
        ("a.test:8443", ("https", 8443), True),
        ("a.test:8080", ("http", 8080), False),
        ("http://a.test:8080", ("http", 8080), True),
        ("http://a.test:8080", ("http", 80), False),
        ("http://a.test", ("https", 443), False),
        ("*.test", ("https", 443), True),
        ("*.test", ("http", 80), False),
        ("b.test", ("https", 443), False),
    ],
)
def test_a_secret_is_for_an_origin(pattern: str, origin: tuple[str, int], gets: bool) -> None:
    keys = {"auth": "env:TOKEN", "secret-header": ["X-Key: env:KEY"], "client-cert": "/cert.pem"}
    found = table({pattern: keys}).explain("a.test", *origin)
    rules = found.rules
    secrets = (rules.auth, rules.secret_header, rules.client_cert)
    assert secrets == (
        ("env:TOKEN", ("X-Key: env:KEY",), "/cert.pem") if gets else (None, None, None)
    )
    host_only = table({pattern: keys}).rules_for("a.test")
    assert host_only.auth is None


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"a.test": {"delays": "1s"}}, "key 'delays' is unknown: the nearest valid one is delay"),
        ({"a.test": {"qwfp": "1s"}}, "there are delay, connections, max-pages"),
        ({"a.test": {"delay": 5}}, "whose delay 5 is not a duration"),
        (
            {"a": {"test": {"delay": "1s"}}},
            'a name without quotes: write [host."a.test"]',
        ),
        ({"a.test/x": {}}, "which is not a pattern of hosts"),
        ({"*.127.0.0.1": {}}, "an address has no hosts below it"),
        ({"a.*.test": {}}, "which is not a pattern of hosts"),
        ({"a.test:99999": {}}, "which is not a pattern of hosts"),
        ({"a.test": "1s"}, "must be a table of keys"),
        ({"a.test": {}, "A.test.": {}}, '[host."a.test"] twice'),
        ({"a.test:81": {"delay": "1s"}}, 'all ports of a host: write it under [host."a.test"]'),
        ({"*": {"auth": "env:TOKEN"}}, "a secret and not for every host"),
        ({"a.test": {"client-key": "/k"}}, "client-key needs the certificate"),
        ({"a.test": {"auth": "A"}}, "env:VARIABLE or file:PATH, and not the secret itself"),
        ({"a.test": {"proxy-auth": "env:A"}}, "needs a proxy"),
        ({"a.test": {"proxy": "none", "proxy-auth": "env:A"}}, "needs a proxy"),
        ({"a.test": {"proxy": "ftp://p.test:1"}}, "is not the address of a proxy"),
        ({"a.test": {"header": ["X: 1", "x: 2"]}}, "has x twice"),
        ({"a.test": {"header": ["X: 1"], "secret-header": ["x: env:A"]}}, "field x is given twice"),
        ({"a.test": {"secret-header": ["Authorization: env:A"], "auth": "env:B"}}, "given twice"),
        ({"a.test": {"header": ["No value"]}}, 'must be written as "Name: value"'),
        ("a.test", "must hold tables of rules"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_place(tables: object, words: str) -> None:
    assert words in refusal(tables)


@pytest.mark.parametrize(
    "name",
    ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Accept-Encoding", "User-Agent"],
)
def test_a_field_that_the_client_owns_is_refused_by_name(name: str) -> None:
    assert f"has {name}, which cannot be set here" in refusal(
        {"a.test": {"header": [f"{name}: x"]}}
    )
    with pytest.raises(UsageError, match=f"header .--header. has {name}"):
        load({"header": (f"{name}: x",)}, {})


@pytest.mark.parametrize("end", ["\r\nX-B: b", "\nX-B: b", "\rX-B: b", "\0", "\x7f", "ü", "\u2028"])
def test_a_header_cannot_be_broken_out_of(end: str) -> None:
    for field in (f"X-A: a{end}b", f"X-A{end}: a"):
        assert "header" in refusal({"a.test": {"header": [field]}})
        with pytest.raises(UsageError):
            load({"header": (field,)}, {})
        with pytest.raises(UsageError):
            load({"secret-header": (field,)}, {})


@pytest.mark.parametrize(
    "given",
    [
        {"header": ("Authorization: Basic hunter2",)},
        {"header": ("Cookie: hunter2",)},
        {"header": ("X-Api-Key: hunter2",)},
        {"secret-header": ("X-Api-Key: hunter2!",)},
        {"auth": "me:hunter2"},
        {"proxy": "http://me:hunter2@proxy.test:3128"},
        {"proxy": "me:hunter2@proxy.test"},
        {"proxy-auth": "me:hunter2"},
        {"header": "Authorization: hunter2"},
    ],
)
def test_a_secret_given_directly_is_refused_and_not_repeated(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        load(given, {})
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in refusal({"a.test": given})
    assert "hunter2" not in refusal({"https://me:hunter2@a.test": {}})


def test_rules_are_stored_and_travel_as_they_are_written() -> None:
    options = CrawlOptions(
        seeds=("http://a.test/",),
        host={"*.B.test": {"max_bytes": "5MB", "header": ["X-A: b | c"], "cookies": True}},
    )
    again = unpack_options(pack_options(options), CrawlOptions())
    assert (
        again.host
        == options.host
        == {"*.b.test": {"max-bytes": "5MB", "cookies": "true", "header": ["X-A: b | c"]}}
    )
    assert HostTable.of(again.host).rules_for("c.b.test").max_bytes == 5_000_000


PATTERNS = ["a.test", "*.test", "*", "b.a.test", "*.a.test", "a.test:81", "http://a.test:81"]


@given(st.permutations(PATTERNS), st.sampled_from(["a.test", "b.a.test", "c.b.a.test", "x.org"]))
def test_the_order_of_the_rules_does_not_matter(patterns: list[str], host: str) -> None:
    tables = {pattern: {"user-agent": pattern} for pattern in patterns}
    found = table(tables).rules_for(host, "http", 81).user_agent
    expected = {"a.test": "http://a.test:81", "b.a.test": "b.a.test", "x.org": "*"}
    assert found == expected.get(host, "*.a.test")


def test_a_pattern_in_normal_form_is_itself() -> None:
    for text in [*PATTERNS, "[::1]:8080", "https://[::1]", "https://a.test"]:
        assert str(HostPattern.parse(text)) == text
    assert str(HostPattern.parse("MÜNCHEN.de.")) == "xn--mnchen-3ya.de"
    assert str(HostPattern.parse("HTTPS://a.test:443/")) == "https://a.test"
    with pytest.raises(BadValueError):
        HostPattern.parse("")


def test_a_misspelt_table_is_told_apart_from_options_in_a_table(tmp_path: Path) -> None:
    file = tmp_path / "crawl.toml"
    for text, words in (
        ('[hosts."a.test"]\ndelay = "1s"', "did you mean host?"),
        ("[profile.mine]\ndelay = '1s'", "did you mean profiles?"),
        ("[host.a.test]\ndelay = '1s'", 'write [host."a.test"]'),
        ("host = 1", "must hold tables of rules"),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError) as caught:
            load({}, {}, file)
        assert words in str(caught.value)
