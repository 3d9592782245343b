"""What the options mean for the parts of a crawl."""

import math
from pathlib import Path

import pytest

from gossamer.config import load
from gossamer.coordinator.plan import (
    Plan,
    default_name,
    fetch_options,
    frontier_rules,
    parse_rules,
    start_urls,
)
from gossamer.coordinator.resume import check_unchanged, pack_options, pack_plan, read_options
from gossamer.model.errors import UsageError
from gossamer.model.names import LinkKind
from gossamer.policy.content_kinds import HYPERLINKS, PAGES, USUAL, accept_field


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
    fetch = fetch_options(plan(timeout=f"{timeout_s}s").options)
    assert fetch.total_timeout_s == timeout_s
    # A deadline may be found out an eighth late.
    assert fetch.first_byte_timeout_s * 9 / 8 < timeout_s
    assert fetch.silence_timeout_s * 9 / 8 < timeout_s
    assert fetch.connect_timeout_s < timeout_s


@pytest.mark.req("D14", "D8")
def test_the_profile_of_the_whole_web_is_that_of_the_requirements() -> None:
    rules = frontier_rules(plan(profile="web").options, strict=False)
    assert (rules.max_pages, rules.max_bytes) == (10_000, 50_000_000)
    assert rules.max_task_bytes == 512_000 + 65_536, "a page, or a robots.txt, behind a redirect"
    assert (rules.revisit_s, rules.keep_s, rules.scheduler.domain_lease_s) == (3600, 3600, 300)
    assert (rules.scheduler.delay_s, rules.scheduler.host_connections) == (1, 1)
    assert (rules.scheduler.url_queue, rules.scheduler.worker_queue) == (10_000, 10_000)
    assert rules.similarity == 0.9


@pytest.mark.req("D5")
def test_how_long_a_worker_keeps_a_domain_is_an_option() -> None:
    rules = frontier_rules(plan(domain_lease="90s").options, strict=False)
    assert rules.scheduler.domain_lease_s == 90


@pytest.mark.req("D8")
def test_the_limit_of_files_counts_only_where_files_are_accepted() -> None:
    limits: dict[str, object] = {"max_page_bytes": "1MB", "max_file_bytes": "5MB"}
    pages, files = plan(**limits), plan(accept="pdf", **limits)
    for one, most in ((pages, 1_000_000), (files, 5_000_000)):
        assert frontier_rules(one.options, strict=False).max_task_bytes == most + 65_536
        stored = read_options(pack_plan(one), "here")
        assert stored is not None
        assert stored.max_body_bytes == most
    assert fetch_options(pages.options).accept == PAGES
    assert fetch_options(files.options).max_file_bytes == 5_000_000


@pytest.mark.req("C9", "F2")
@pytest.mark.parametrize("profile", ["classic", "focused", "web"])
def test_the_profiles_follow_what_their_sources_followed(profile: str) -> None:
    rules = parse_rules(plan(profile=profile).options)
    assert (rules.follow, rules.accept) == (HYPERLINKS, PAGES)


def test_what_is_accepted_is_also_followed_unless_it_is_said_what_to_follow() -> None:
    assert parse_rules(plan().options).follow == USUAL
    assert parse_rules(plan(accept=["css", "js,font"]).options).follow == USUAL | {
        *(LinkKind.STYLESHEET, LinkKind.SCRIPT, LinkKind.FONT),
    }
    assert parse_rules(plan(accept="any").options).follow == set(LinkKind) - {LinkKind.CANONICAL}
    assert parse_rules(plan(accept="any", follow="next, a").options).follow == {
        *(LinkKind.NEXT, LinkKind.A),
    }
    assert parse_rules(plan(follow="none").options).follow == set()


@pytest.mark.parametrize(
    ("accept", "field"),
    [
        ("html", "text/html,application/xhtml+xml,*/*;q=0.1"),
        (
            "js,json",
            "text/html,application/xhtml+xml,application/json;q=0.9,text/javascript;q=0.9,*/*;q=0.1",
        ),
        ("any", "text/html,application/xhtml+xml,*/*;q=0.9"),
    ],
)
def test_the_field_of_a_request_names_what_is_accepted(accept: str, field: str) -> None:
    assert accept_field(fetch_options(plan(accept=accept).options).accept) == field


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"follow": "links"}, "has 'links', which must be one of a, area, frame, iframe"),
        ({"follow": "nxt"}, r"script, font, or auto: did you mean next\?"),
        ({"accept": "other"}, "has 'other', which must be one of html, text"),
        ({"max_file_bytes": "lots"}, "is not a size"),
    ],
)
def test_a_wrong_kind_is_named(wrong: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        plan(**wrong)


def test_nothing_is_revisited_and_only_a_shared_store_forgets() -> None:
    rules = frontier_rules(plan().options, strict=False)
    assert (rules.revisit_s, rules.keep_s) == (math.inf, math.inf)
    shared = frontier_rules(plan(store="redis://localhost").options, strict=False)
    assert (shared.revisit_s, shared.keep_s) == (math.inf, 3600)
    given = frontier_rules(
        plan(revisit="2h", keep="forever", store="redis://localhost").options, strict=False
    )
    assert (given.revisit_s, given.keep_s) == (7200, math.inf)


def test_similarity_off_keeps_duplicates() -> None:
    assert frontier_rules(plan(similarity="off").options, strict=True).similarity is None


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
    check_unchanged(plan(depth=3, scope="domain", max_pages=5, workers=8, delay="3s").options, note)
    with pytest.raises(UsageError, match="different depth"):
        check_unchanged(plan(depth=4, scope="domain").options, note)
    with pytest.raises(UsageError, match=r"different revisit \(never instead of 5s\)"):
        check_unchanged(plan(depth=3, scope="domain", revisit="5s").options, note)
    with pytest.raises(UsageError, match="different seeds"):
        check_unchanged(plan("http://b.test/", depth=3, scope="domain").options, note)


@pytest.mark.parametrize(
    ("options", "name", "origins"),
    [
        ({"seed-files": ["of/hosts.txt"]}, "hosts-crawl", []),
        ({"sitemaps": ["http://a.test/map.xml"]}, "a.test", ["http://a.test/map.xml"]),
        (
            {"sitemaps": ["auto", "http://a.test/map.xml"], "seeds": ["http://b.test/"]},
            "b.test",
            ["http://b.test/"],
        ),
    ],
)
def test_a_crawl_is_named_after_where_it_starts(
    options: dict[str, object], name: str, origins: list[str]
) -> None:
    given = load(options, {}).options
    stored = read_options(pack_options(given), "the test")
    assert stored is not None
    assert (default_name(given), default_name(stored), Plan(given).name) == (name,) * 3
    assert start_urls(given) == start_urls(stored) == origins
