import dataclasses
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from gossamer.config import OPTIONS, CrawlOptions, Option, StoreAddress
from gossamer.config.store_address import OWN_REDIS
from gossamer.config.values import ScopeName
from gossamer.model.errors import UsageError
from gossamer.urls import ScopeKind


def refusal(**values: object) -> str:
    given: dict[str, Any] = values
    with pytest.raises(UsageError) as caught:
        CrawlOptions(**given)
    return str(caught.value)


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_is_declared_completely(option: Option) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", option.name)
    assert option.help[0].isupper()
    assert option.help.endswith(".")
    assert option.group


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_a_default_is_a_valid_value_and_survives_being_written(option: Option) -> None:
    assert getattr(CrawlOptions(), option.field) == option.default
    assert option.take(option.kind.show(option.default)) == option.default


def test_the_defaults_of_the_manual() -> None:
    options = CrawlOptions()
    assert (options.workers, options.connections, options.host_connections) == (None, 100, 1)
    assert (options.max_pages, options.max_bytes, options.max_page_bytes) == (
        10_000,
        10**9,
        10**7,
    )
    assert (options.delay_s, options.revisit_s, options.timeout_s) == (1.0, None, 30.0)
    assert (options.depth, options.scope, options.module) == (None, "host", ("noop",))
    assert (options.url_queue, options.worker_queue, options.queues) == (10_000, 10_000, 10)
    assert options.similarity == 0.9
    assert options.store == StoreAddress("sqlite", None)


def test_the_scopes_are_those_of_the_scope_rules() -> None:
    assert get_args(ScopeName) == get_args(ScopeKind)


def test_options_cannot_be_changed_but_replaced() -> None:
    options = CrawlOptions(delay_s=2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.delay_s = 3.0  # type: ignore[misc]  # that is the point
    with pytest.raises(UsageError):
        dataclasses.replace(options, delay_s=-1)


def test_values_come_out_in_one_form() -> None:
    given: dict[str, Any] = {"seeds": ["http://a/"], "dir": "~/x", "delay_s": 2, "store": "memory:"}
    options = CrawlOptions(**given)
    assert options.seeds == ("http://a/",)
    assert options.dir == Path.home() / "x"
    assert isinstance(options.delay_s, float)
    assert options.store == StoreAddress("memory")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"delay_s": -1.0}, "delay -1.0 is out of range: write 0s, or from 1ms to 24h, or auto"),
        (
            {"delay_s": float("nan")},
            "delay nan is out of range: write 0s, or from 1ms to 24h, or auto",
        ),
        (
            {"delay_s": 1e9},
            "delay 1000000000.0 is out of range: write 0s, or from 1ms to 24h, or auto",
        ),
        ({"delay_s": 1e-9}, "delay 1e-09 is out of range: write 0s, or from 1ms to 24h, or auto"),
        ({"delay_s": True}, "delay True is not a duration, such as 500ms, 2s, 5m, or auto"),
        ({"keep_s": 0.0}, "keep 0.0 is out of range: write 1s to 8760h, or forever, or auto"),
        ({"workers": True}, "workers True must be a whole number from 0 to 1000, or auto"),
        ({"workers": 1.0}, "workers 1.0 must be a whole number from 0 to 1000, or auto"),
        ({"depth": -1}, "depth -1 must be a whole number from 0 to 1000000, or none"),
        ({"max_page_bytes": 10**10}, "max-page-bytes 10000000000 is out of range: write 1B to 1GB"),
        ({"max_bytes": 0.5}, "max-bytes 0.5 is not a size, such as 500kB, 50MB, 64KiB"),
        (
            {"similarity": 0.0},
            "similarity 0.0 must be a number above 0 and up to 1, such as 0.9, or off",
        ),
        (
            {"scope": "hosts"},
            "scope 'hosts' must be one of host, domain, prefix, any: did you mean host?",
        ),
        (
            {"ignore_robots": ("http://a.test/",)},
            "ignore-robots has 'http://a.test/', which is not one host: write its name alone, such "
            "as www.example.org",
        ),
        (
            {"exclude": ("ok", "(")},
            "exclude has '(', which is not a regular expression: "
            "missing ), unterminated subpattern at position 0",
        ),
        ({"follow": ""}, "follow '' is empty: name at least one, or write none, or auto"),
        ({"accept": " , "}, "accept ' , ' is empty: name at least one, or write none"),
        (
            {"bodies": "s3:x"},
            "bodies 's3:x' is neither store nor a directory nor s3://BUCKET/PREFIX",
        ),
        ({"module": 3}, 'module 3 must be a list of strings, such as ["one", "two"]'),
        ({"contact": "Zoë"}, "contact 'Zoë' is sent in a header, so it must be ASCII, or none"),
        (
            {"user_agent": "x\r\nHost: y"},
            "user-agent 'x\\r\\nHost: y' must be one line of printable text, or auto",
        ),
        (
            {"pagerank_url": "ftp://x/"},
            "pagerank-url 'ftp://x/' is not a web address: it must start with https:// or http://, "
            "or auto",
        ),
        ({"fresh": "maybe"}, "fresh 'maybe' must be true or false"),
        ({"dir": ""}, "dir '' must be one line of printable text, or auto"),
        (
            {"workers": "9" * 5000},
            f"workers '{'9' * 78}… must be a whole number from 0 to 1000, or auto",
        ),
    ],
)
def test_a_bad_value_is_named_with_its_remedy(values: dict[str, Any], message: str) -> None:
    assert refusal(**values) == message


@pytest.mark.parametrize(
    ("text", "path"),
    [("sqlite:", None), ("sqlite:a/b.db", Path("a/b.db")), ("SQLite:/x.db", Path("/x.db"))],
)
def test_a_store_is_a_file_unless_it_is_memory(text: str, path: Path | None) -> None:
    store: Any = text
    assert CrawlOptions(store=store).store == StoreAddress("sqlite", path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("redis://h", "redis://h"),
        (" rediss://u:secret@h:1/2", "rediss://u:***@h:1/2"),
        ("unix://:s@c:r/e@t@/run/redis", "unix://:***@/run/redis"),
        ("valkey://:secret@h", "valkey://:***@h"),
        (
            "redis+sentinel://:secret@h:1,i:2/s?sentinel_password=se@cret",
            "redis+sentinel://:***@h:1,i:2/s?sentinel_password=***",
        ),
    ],
)
def test_a_store_on_a_server_is_shown_without_its_password(text: str, told: str) -> None:
    store: Any = text
    options = CrawlOptions(store=store)
    assert options.store.scheme == "redis"
    assert options.store.url == text.strip()
    assert str(options.store) == told
    assert "secret@" not in repr(options)


@pytest.mark.parametrize("text", ["redis:", "valkey:", "REDIS:"])
def test_a_store_without_a_host_is_a_server_of_its_own(text: str) -> None:
    store: Any = text
    options = CrawlOptions(store=store, workers=0)
    assert options.store == OWN_REDIS
    assert str(options.store) == "redis:"
    assert options.store.is_shared
    assert not options.store.is_server


@pytest.mark.parametrize(
    ("store", "complaint"),
    [
        ("redis:u:secret@h/0", "'redis:u:secret@h/0' is an unknown kind of store"),
        ("mysql://root:p@ss@h/", "'mysql://…@h/' is an unknown kind of store"),
        ("crawl.db", "'crawl.db' is an unknown kind of store"),
        ("memory:x", "'memory:x' is an unknown kind of store"),
        ("sqlite:///x.db", "'sqlite:///x.db' is an unknown kind of store"),
        ("sqlite::memory:", "'sqlite::memory:' is an unknown kind of store"),
        (True, "True is an unknown kind of store"),
    ],
)
def test_an_unknown_store_is_refused_with_the_known_ones(store: object, complaint: str) -> None:
    known = "memory:, sqlite:PATH, redis: or redis://HOST"
    assert refusal(store=store) == f"store {complaint}: write {known}"


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"host_connections": 2}, ("host-connections 2", "delay of 0s")),
        ({"workers": 4, "connections": 3}, ("connections 3", "4 workers")),
        (
            {"host_connections": 8, "connections": 4, "delay_s": 0},
            ("connections 4", "host-connections 8"),
        ),
        ({"quiet": True, "verbose": True}, ("quiet", "verbose")),
        ({"workers": 0}, ("workers 0", "redis://HOST")),
    ],
)
def test_options_that_do_not_go_together(values: dict[str, Any], names: tuple[str, ...]) -> None:
    message = refusal(**values)
    assert all(name in message for name in names)
    assert not message.endswith(".")


def test_own_servers_may_be_asked_many_times_at_once() -> None:
    assert CrawlOptions(host_connections=16, delay_s=0).host_connections == 16


def test_a_secret_stays_out_of_every_text() -> None:
    assert "hush" not in repr(CrawlOptions(pagerank_key="hush"))
    assert "hush" not in refusal(pagerank_key="hush\n hush")
