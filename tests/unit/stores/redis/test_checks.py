"""What is decided about a server from what it says of itself."""

import pytest

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import judge, require
from gossamer.stores.redis.connection import ServerFinding
from gossamer.stores.rows import StoreAwayError

HERE = parse_address("redis://localhost")
SOUND = {
    "redis_version": "7.0.15",
    "loading": "0",
    "role": "master",
    "aof_enabled": "1",
    "aof_last_write_status": "ok",
    "maxmemory": "1000000000",
    "used_memory": "100",
    "maxmemory_policy": "noeviction",
}
SETTINGS = {"appendfsync": "everysec", "no-appendfsync-on-rewrite": "no", "save": ""}


def judged(
    facts: dict[str, str], settings: dict[str, str] = SETTINGS, address: RedisAddress = HERE
) -> list[ServerFinding]:
    """Return what is said of a sound server but for some facts."""
    return judge(SOUND | facts, settings, address)


def only(findings: list[ServerFinding]) -> ServerFinding:
    (finding,) = findings
    return finding


def test_nothing_is_said_of_a_sound_server() -> None:
    assert judged({}) == []
    assert judged({}, SETTINGS | {"appendfsync": "always"}) == []
    assert require([], HERE) == []


VALKEY = {"server_name": "valkey", "redis_version": "7.2.4"}
NO_AOF = {"aof_enabled": "0"}


@pytest.mark.parametrize(
    ("facts", "severity", "what", "why"),
    [
        ({"redis_version": "6.2.20"}, "refuse", "Redis 6.2.20 is too old", "Redis 7.0"),
        ({**VALKEY, "valkey_version": "7.1.0"}, "refuse", "Valkey 7.1.0 is", "Valkey 7.2"),
        ({"role": "slave"}, "refuse", "a replica", "loses it"),
        (
            {"loading": "1", "loading_eta_seconds": "7", "redis_version": "6.0.0"},
            *("refuse", "about 7 s to go", "answers nothing"),
        ),
        ({"maxmemory_policy": "allkeys-lru"}, "refuse", "allkeys-lru", "silently deletes"),
        ({"used_memory": "901000000"}, "refuse", "90% of maxmemory", "99 MB are left"),
        ({"used_memory": "760000000"}, "warn", "76% of maxmemory", "240 MB are left"),
        (NO_AOF, "warn", "append-only file is off", "the whole crawl"),
        ({"aof_last_write_status": "err"}, "refuse", "file failed", "refuses all writes"),
    ],
)
def test_each_fault_is_told_with_its_cost(
    facts: dict[str, str], severity: str, what: str, why: str
) -> None:
    finding = only(judged(facts))
    assert finding.severity == severity
    assert what in finding.what
    assert why in finding.why
    assert finding.remedy


@pytest.mark.parametrize(
    ("facts", "settings", "what", "why"),
    [
        (NO_AOF, {"save": "3600 1 300 100"}, "file is off", "up to the last 3600 s"),
        (NO_AOF, {}, "file is off", "could not be checked"),
        ({}, {}, "CONFIG is not allowed", "2 s with everysec"),
        ({}, {"appendfsync": "no"}, "appendfsync is no", "about the last 35 s"),
        (
            {},
            {"appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes"},
            *("no-appendfsync-on-rewrite is on", "last 35 s"),
        ),
    ],
)
def test_each_lax_setting_is_told_with_its_cost(
    facts: dict[str, str], settings: dict[str, str], what: str, why: str
) -> None:
    finding = only(judged(facts, settings))
    assert finding.severity == "warn"
    assert what in finding.what
    assert why in finding.why


@pytest.mark.parametrize(
    "facts",
    [
        {"redis_version": "7.0.0"},
        {**VALKEY, "valkey_version": "7.2.5"},
        {**VALKEY, "valkey_version": "8.0.1"},
        {"used_memory": "750000000"},
        {"used_memory": "1000000000000", "maxmemory": "0"},
    ],
)
def test_the_edge_of_what_is_sound(facts: dict[str, str]) -> None:
    assert judged(facts) == []


@pytest.mark.parametrize(
    ("address", "severities"),
    [
        ("redis://localhost", []),
        ("unix:///run/redis.sock", []),
        ("rediss://:pw@db1", []),
        ("redis://:pw@db1", ["warn"]),
        ("redis://db1", ["refuse"]),
        ("rediss://db1", ["refuse"]),
    ],
)
def test_another_machine_needs_a_password(address: str, severities: list[str]) -> None:
    findings = judged({}, address=parse_address(address))
    assert [finding.severity for finding in findings] == severities


def test_the_operator_may_accept_the_risk() -> None:
    foreign = parse_address("redis://10.0.0.7")
    assert "--insecure-store" in only(judged({}, address=foreign)).remedy
    accepted = only(judge(SOUND, SETTINGS, foreign, allow_insecure=True))
    assert accepted.severity == "warn"
    assert "--insecure-store" not in accepted.remedy
    assert require([accepted], foreign) == [accepted]


def test_all_refusals_are_told_at_once_and_before_the_warnings() -> None:
    address = RedisAddress(host="db1", password="s3cret")  # noqa: S106 - an example
    facts = {**NO_AOF, "maxmemory_policy": "allkeys-lru", "role": "slave"}
    findings = judged(facts, address=address)
    assert [finding.severity for finding in findings] == ["refuse", "refuse", "warn", "warn"]
    with pytest.raises(CrawlError) as told:
        require(findings, address)
    assert not isinstance(told.value, StoreAwayError), "not all of it may pass"
    words = str(told.value)
    assert words.startswith("the store redis://:***@db1:6379/0 cannot be used: ")
    assert "replica" in words
    assert "allkeys-lru" in words
    assert "append-only" not in words


@pytest.mark.parametrize(
    "facts", [{"loading": "1"}, {"role": "slave"}, {"aof_last_write_status": "err"}]
)
def test_what_may_pass_is_worth_waiting_for(facts: dict[str, str]) -> None:
    with pytest.raises(StoreAwayError):
        require(judged(facts), HERE)


@pytest.mark.parametrize(
    "facts", [{"redis_version": "5.0.0"}, {"maxmemory_policy": "volatile-lru"}]
)
def test_what_stays_is_not(facts: dict[str, str]) -> None:
    assert not only(judged(facts)).passing


@pytest.mark.parametrize("info", [{}, {"redis_version": "latest"}])
def test_what_tells_no_version_is_no_redis(info: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no version"):
        judge(info, {}, HERE)
