"""What is decided about a server from what it says of itself."""

import pytest

from gossamer.errors import CrawlError
from gossamer.stores.redis.address import RedisAddress, parse_address
from gossamer.stores.redis.checks import ServerFacts, ServerFinding, judge, require
from gossamer.stores.redis.probe import read_facts

HERE = parse_address("redis://localhost")
SOUND = ServerFacts(
    version=(7, 0, 15), fsync="everysec", fsync_on_rewrite=True, save_s=(), max_bytes=1_000_000_000
)
INFO = {
    "redis_version": "7.0.15",
    "loading": "0",
    "role": "master",
    "aof_enabled": "1",
    "maxmemory": "1000",
    "used_memory": "100",
    "maxmemory_policy": "noeviction",
}


def changed(**facts: object) -> ServerFacts:
    return ServerFacts(**{name: getattr(SOUND, name) for name in SOUND.__struct_fields__} | facts)


def only(findings: list[ServerFinding]) -> ServerFinding:
    (finding,) = findings
    return finding


def test_nothing_is_said_of_a_sound_server() -> None:
    assert judge(SOUND, HERE) == []
    assert judge(changed(fsync="always"), HERE) == []
    assert require([], HERE) == []


@pytest.mark.parametrize(
    ("facts", "severity", "what", "why"),
    [
        (changed(version=(6, 0, 20)), "refuse", "Redis 6.0.20 is too old", "Redis 7.0"),
        (changed(is_replica=True), "refuse", "a replica", "loses it"),
        (changed(loading=True, loading_left_s=7), "refuse", "about 7 s to go", "answers nothing"),
        (changed(eviction="allkeys-lru"), "refuse", "allkeys-lru", "silently deletes"),
        (changed(used_bytes=901_000_000), "refuse", "90% of maxmemory", "99 MB are left"),
        (changed(used_bytes=760_000_000), "warn", "76% of maxmemory", "240 MB are left"),
        (changed(aof=False), "warn", "append-only file is off", "the whole crawl"),
        (changed(aof=False, save_s=(3600, 60)), "warn", "is off", "up to the last 3600 s"),
        (changed(aof=False, save_s=None), "warn", "is off", "could not be checked"),
        (changed(aof_broken=True), "refuse", "append-only file failed", "refuses all writes"),
        (changed(fsync="no"), "warn", "appendfsync is no", "about the last 35 s"),
        (changed(fsync=None), "warn", "CONFIG is not allowed", "2 s with everysec"),
        (changed(fsync_on_rewrite=False), "warn", "no-appendfsync-on-rewrite", "last 35 s"),
    ],
)
def test_each_fault_is_told_with_its_cost(
    facts: ServerFacts, severity: str, what: str, why: str
) -> None:
    finding = only(judge(facts, HERE))
    assert finding.severity == severity
    assert what in finding.what
    assert why in finding.why
    assert finding.remedy


@pytest.mark.parametrize(
    "facts",
    [
        changed(version=(7, 0, 0)),
        changed(product="Valkey", version=(7, 2, 5)),
        changed(product="Valkey", version=(8, 0, 1)),
        changed(used_bytes=750_000_000),
        changed(used_bytes=10**12, max_bytes=0),
        changed(fsync_on_rewrite=None),
        changed(aof=True, save_s=None),
    ],
)
def test_the_edge_of_what_is_sound(facts: ServerFacts) -> None:
    assert judge(facts, HERE) == []


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
    findings = judge(SOUND, parse_address(address))
    assert [one.severity for one in findings] == severities


def test_the_operator_may_accept_the_risk() -> None:
    foreign = parse_address("redis://10.0.0.7")
    assert "--insecure-store" in only(judge(SOUND, foreign)).remedy
    accepted = only(judge(SOUND, foreign, allow_insecure=True))
    assert accepted.severity == "warn"
    assert "--insecure-store" not in accepted.remedy
    assert require([accepted], foreign) == [accepted]


def test_all_refusals_are_told_at_once_and_before_the_warnings() -> None:
    address = RedisAddress(host="db1", password="s3cret")  # noqa: S106 - an example
    facts = changed(aof=False, eviction="allkeys-lru", is_replica=True)
    findings = judge(facts, address)
    assert [one.severity for one in findings] == ["refuse", "refuse", "warn", "warn"]
    with pytest.raises(CrawlError) as told:
        require(findings, address)
    words = str(told.value)
    assert words.startswith("the store redis://:***@db1:6379/0 cannot be used: ")
    assert "replica" in words
    assert "allkeys-lru" in words
    assert "append-only" not in words


def test_only_what_may_pass_is_worth_waiting_for() -> None:
    def passes(facts: ServerFacts) -> bool:
        return only(judge(facts, HERE)).passing

    assert passes(changed(loading=True))
    assert passes(changed(is_replica=True)), "a failover makes it the primary"
    assert not passes(changed(version=(5, 0, 0)))
    assert not passes(changed(eviction="volatile-lru"))


def test_info_is_read() -> None:
    settings = {"appendfsync": "no", "save": "3600 1 300 100", "no-appendfsync-on-rewrite": "yes"}
    facts = read_facts({**INFO, "loading": "1", "loading_eta_seconds": "12"}, settings)
    assert facts == ServerFacts(
        version=(7, 0, 15),
        loading=True,
        loading_left_s=12,
        fsync="no",
        fsync_on_rewrite=False,
        save_s=(3600, 300),
        used_bytes=100,
        max_bytes=1000,
    )


def test_a_valkey_is_known_by_its_own_version() -> None:
    facts = read_facts({**INFO, "server_name": "valkey", "valkey_version": "8.1.3"}, {})
    assert (facts.product, facts.version) == ("Valkey", (8, 1, 3))


def test_what_config_does_not_tell_is_unknown() -> None:
    facts = read_facts(INFO, {})
    assert (facts.fsync, facts.fsync_on_rewrite, facts.save_s) == (None, None, None)


@pytest.mark.parametrize("info", [{}, {"redis_version": "latest"}])
def test_what_tells_no_version_is_no_redis(info: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no version"):
        read_facts(info, {})
