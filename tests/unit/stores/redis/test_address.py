"""Addresses of a Redis: what is read, what is shown, what is refused."""

import pytest

from gossamer.model.errors import UsageError
from gossamer.stores.redis.address import RedisAddress, Sentinels, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://db1", RedisAddress(host="db1")),
        ("redis://db1:7000/3", RedisAddress(host="db1", port=7000, db=3)),
        ("  redis://db1/ ", RedisAddress(host="db1")),
        ("redis://:s3cret@db1", RedisAddress(host="db1", password="s3cret")),  # noqa: S106 - an example
        (
            "rediss://bob:p%40ss%2Fword@[2001:db8::1]:6380",
            RedisAddress(
                host="2001:db8::1",
                port=6380,
                user="bob",
                password="p@ss/word",  # noqa: S106 - an example
                tls=True,
            ),
        ),
        ("valkey://db1", RedisAddress(host="db1")),
        ("valkeys://db1", RedisAddress(host="db1", tls=True)),
        ("unix:///run/redis.sock", RedisAddress(socket="/run/redis.sock")),
        (
            "unix://:pw@/run/redis.sock?db=2",
            RedisAddress(socket="/run/redis.sock", db=2, password="pw"),  # noqa: S106 - an example
        ),
        (
            "redis+sentinel://s1,[::1]:7000/crawls",
            RedisAddress(
                sentinels=Sentinels(places=(("s1", 26379), ("::1", 7000)), service="crawls")
            ),
        ),
        (
            "valkeys+sentinel://bob:p%40ss@s1:1/my%20own/3?sentinel_user=eve&sentinel_password=%26",
            RedisAddress(
                user="bob",
                password="p@ss",  # noqa: S106 - an example
                db=3,
                tls=True,
                sentinels=Sentinels(
                    places=(("s1", 1),),
                    service="my own",
                    user="eve",
                    password="&",  # noqa: S106 - an example
                ),
            ),
        ),
    ],
)
def test_an_address_is_read_and_its_url_reads_the_same(text: str, expected: RedisAddress) -> None:
    address = parse_address(text)
    assert address == expected
    assert parse_address(address.url()) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://db1", "redis://db1:6379/0"),
        ("redis://:s3cret@db1", "redis://:***@db1:6379/0"),
        ("rediss://bob:s3cret@db1:1/2", "rediss://bob:***@db1:1/2"),
        ("redis://:s3cret@[::1]", "redis://:***@[::1]:6379/0"),
        ("unix://:s3cret@/run/redis.sock", "unix://:***@/run/redis.sock"),
        (
            "redis+sentinel://:s3cret@s1:1,s2:2/crawls?sentinel_password=s3cret2",
            "redis+sentinel://:***@s1:1,s2:2/crawls/0?sentinel_password=***",
        ),
    ],
)
def test_people_never_see_the_password(text: str, shown: str) -> None:
    address = parse_address(text)
    assert str(address) == shown
    assert "s3cret" not in f"{address!r} {address} {[address]}"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("http://db1", "is not the URL of a Redis"),
        ("unix+sentinel://s1/crawls", "is not the URL of a Redis"),
        ("redis+sentinel://s1:1,s2:2", "names no service of the Sentinels"),
        ("redis+sentinel://s1:1,:2/crawls", "has no valid host or port"),
        ("redis+sentinel://:s3cret/word@s1/crawls", "has no valid host or port"),
        ("redis+sentinel://s1/crawls?password=s3cret", "has options other than"),
        ("db1:6379", "is not the URL of a Redis"),
        ("redis://", "names no host"),
        ("redis://:s3cret@", "names no host"),
        ("redis://db1:65536", "no valid host or port"),
        ("redis://:s3cret/x@db1", "no valid host or port"),
        ("redis://:s3cret#@db1", "no valid host or port"),
        ("redis://:s3cret[@db1", "no valid host or port"),
        ("redis://db1/zero", "a database that is no number"),
        ("redis://db1/-1", "a database that is no number"),
        ("redis://db1?password=s3cret", "options after"),
        ("redis://bob@db1", "user without a password"),
        ("unix://run/redis.sock", "names no socket"),
        ("unix:///", "names no socket"),
        ("unix:///run/redis.sock?timeout=1", "the only one of a socket is db"),
    ],
)
def test_what_is_no_address_is_told_without_the_password(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as told:
        parse_address(text)
    assert "s3cret" not in str(told.value)
    assert told.value.__context__ is None, "a traceback would show the library's words"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "LOCALHOST"])
def test_loopback_is_local(host: str) -> None:
    assert parse_address(f"redis://{host}").is_local
    assert parse_address("unix:///run/redis.sock").is_local


@pytest.mark.parametrize("host", ["db1", "10.0.0.1", "[2001:db8::1]", "localhost.example.com"])
def test_everything_else_is_not(host: str) -> None:
    assert not parse_address(f"redis://{host}").is_local
