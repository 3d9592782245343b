"""What the options mean for the parts of a crawl."""

from pathlib import Path

import pytest

from gossamer.config import load
from gossamer.errors import UsageError
from gossamer.plan import Plan
from gossamer.plan.stored_options import pack_options


def plan(*seeds: str, **options: object) -> Plan:
    named = {name.replace("_", "-"): value for name, value in options.items()}
    return Plan(load({"seeds": seeds or ("http://a.test/",), **named}, {}).options)


def test_a_crawl_needs_a_seed() -> None:
    with pytest.raises(UsageError, match="at least one seed"):
        Plan(load({}, {}).options)


@pytest.mark.parametrize("seed", ["a.test", "ftp://a.test/", "http://", "http://[::1"])
def test_a_seed_must_be_a_url(seed: str) -> None:
    with pytest.raises(UsageError, match="seed URL"):
        plan(seed)


def test_a_seed_must_be_in_scope() -> None:
    with pytest.raises(UsageError, match=r"the seed http://a\.test/x is not in scope"):
        plan("http://a.test/x", exclude=["x"])


@pytest.mark.req("D8")
@pytest.mark.parametrize("timeout_s", [0.1, 1, 5, 30, 600])
def test_every_silence_ends_before_the_whole_request_does(timeout_s: float) -> None:
    """So it is known for what it is: silence is tried again, a trickle is not."""
    fetch = plan(timeout=f"{timeout_s}s").fetch_options()
    assert fetch.total_timeout_s == timeout_s
    # A deadline may be found out an eighth late.
    assert fetch.first_byte_timeout_s * 9 / 8 < timeout_s
    assert fetch.silence_timeout_s * 9 / 8 < timeout_s
    assert fetch.connect_timeout_s < timeout_s


@pytest.mark.req("D14", "D8")
def test_the_defaults_are_those_of_the_requirements() -> None:
    rules = plan().store_rules(strict=False)
    assert (rules.max_pages, rules.max_bytes, rules.max_page_bytes) == (
        10_000,
        50_000_000,
        500_000,
    )
    assert (rules.ttl_s, rules.scheduler.domain_ttl_s) == (3600, 300)
    assert (rules.scheduler.delay_s, rules.scheduler.host_connections) == (1, 1)
    assert rules.scheduler.worker_queue == 10_000
    assert rules.similarity == 0.9


def test_similarity_off_keeps_duplicates() -> None:
    assert plan(similarity="off").store_rules(strict=True).similarity is None


def test_hosts_whose_robots_txt_is_ignored_are_known_under_any_spelling() -> None:
    made = plan(ignore_robots=["A.Test", "b.test:8080", "bücher.test."])
    assert made.ignored_robots == {"a.test", "b.test", "xn--bcher-kva.test"}
    with pytest.raises(UsageError, match="robots"):
        plan(ignore_robots=["no host"])


@pytest.mark.parametrize(
    ("scope", "key", "scorer"),
    [("host", None, "depth"), ("any", None, "importance"), ("any", "k", "pagerank")],
)
def test_the_scorer_fits_the_crawl(scope: str, key: str | None, scorer: str) -> None:
    assert plan(scope=scope, pagerank_key=key).scorer_name == scorer
    assert plan(scope=scope, pagerank_key=key, scorer="fifo").scorer_name == "fifo"


def test_the_directory_is_named_after_the_first_seed() -> None:
    assert plan("http://a.test:81/x", "http://b.test/").directory == Path("a.test-81")
    assert plan(dir="elsewhere").directory == Path("elsewhere")
    assert plan("http://a.test/", name="mine").name == "mine"


def test_a_crawl_goes_on_with_the_same_options_only() -> None:
    note = pack_options(plan(depth=3, scope="domain").options)
    plan(depth=3, scope="domain", max_pages=5, workers=8, delay="3s").compare(note)
    with pytest.raises(UsageError, match="different depth"):
        plan(depth=4, scope="domain").compare(note)
    with pytest.raises(UsageError, match="different seeds"):
        plan("http://b.test/", depth=3, scope="domain").compare(note)
