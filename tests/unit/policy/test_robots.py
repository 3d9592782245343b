"""What a robots.txt says to us."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model import Outcome, Url
from gossamer.policy.robots import (
    MAX_CRAWL_DELAY_S,
    MAX_ROBOTS_BYTES,
    RobotsRules,
    parse_robots,
    product_token,
)

AGENT = "gossamer"

relaxed = settings(deadline=None, max_examples=200)


def allowed(robots: str | bytes, path: str, agent: str = AGENT) -> bool:
    body = robots.encode() if isinstance(robots, str) else robots
    return parse_robots(body, agent).judge(Url(f"http://a.test{path}")).allowed


@pytest.mark.req("F4")
def test_the_verdict_names_the_rule() -> None:
    rules = parse_robots(b"# us\nUser-agent: *\nDisallow: /private/\nAllow: /private/but\n", AGENT)
    denied = rules.judge(Url("http://a.test/private/page"))
    assert denied.refusal is Outcome.ROBOTS_DENIED
    assert denied.reason == "Disallow: /private/ (line 3)"
    assert denied.retry_at is None
    fine = rules.judge(Url("http://a.test/private/but/this"))
    assert fine.allowed
    assert fine.reason == "Allow: /private/but (line 4)"
    assert rules.judge(Url("http://a.test/")).reason == ""


def test_robots_txt_itself_is_always_allowed() -> None:
    everything = "User-agent: *\nDisallow: /"
    assert allowed(everything, "/robots.txt")
    assert not allowed(everything, "/robots.txt.html")
    assert not allowed(everything, "/folder/robots.txt")


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("Gossamer/0.1", "Gossamer"),
        ("Gossamer/0.1 (+https://example.com/bot)", "Gossamer"),
        ("my_own-bot", "my_own-bot"),
        ("Bot2000/1.0", "Bot"),
        (
            "Mozilla/5.0 (compatible; ExampleBot/0.1; https://www.example.com/bot.html)",
            "ExampleBot",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64)", "Mozilla"),
        ("ツ", ""),
        ("", ""),
    ],
)
def test_the_product_token(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("User-agent: gossamer", True),
        ("User-agent: GOSSAMER", True),
        ("User-agent: gossamer/0.1", True),
        ("User-agent: gossamer 0.1 crawler", True),
        ("User-agent: gossamer*", True),
        ("User-agent: Mozilla/5.0 (compatible; gossamer/0.1; +http://a.test)", True),
        ("User-agent:gossamer # that one", True),
        ("\t user-agent\t: gossamer \t", True),
        ("useragent: gossamer", True),
        ("User agent: gossamer", True),
        ("User-agent gossamer", True),
        ("User-agent: *", True),
        ("User-agent: * # all", True),
        ("User-agent: * all of you", True),
        ("User-agent: gossamer-images", False),
        ("User-agent: goss", False),
        ("User-agent: my gossamer", False),
        ("User-agent: *gossamer", False),
        ("User-agent: .*", False),
        ("User-agent:", False),
        ("User-agent", False),
        ("Agent: gossamer", False),
    ],
)
def test_who_is_meant(line: str, meant: bool) -> None:
    assert allowed(f"{line}\nDisallow: /", "/x") is not meant


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Disallow: /x", True),
        ("DISALLOW:/x", True),
        ("  disallow  :  /x  ", True),
        ("Disallow /x", True),
        ("Disallow: /x # why not", True),
        ("Dissallow: /x", True),
        ("Dissalow: /x", True),
        ("Disalow: /x", True),
        ("Diasllow: /x", True),
        ("Disallaw: /x", True),
        ("Disallow /x or so", False),
        ("Disallow", False),
        ("Disallow:", False),
        ("Disallow: # /x", False),
        ("# Disallow: /x", False),
        ("Disallow: x", False),
        ("Dis-allow: /x", False),
        ("Noindex: /x", False),
        (": /x", False),
    ],
)
def test_which_lines_are_read(line: str, read: bool) -> None:
    assert allowed(f"User-agent: *\n{line}", "/x") is not read


def test_a_group_of_ours_without_rules_allows_everything() -> None:
    robots = "User-agent: *\nDisallow: /\n\nUser-agent: gossamer\n"
    assert allowed(robots, "/x")
    assert not allowed(robots, "/x", "other")


def test_an_empty_disallow_ends_the_list_of_agents() -> None:
    robots = "User-agent: gossamer\nDisallow:\nUser-agent: other\nDisallow: /\n"
    assert allowed(robots, "/x")
    assert not allowed(robots, "/x", "other")


@pytest.mark.parametrize(
    "line", ["", "# comment", "Sitemap: /map", "Crawl-delay: 2", "Foo: bar", "?"]
)
def test_other_lines_end_nothing(line: str) -> None:
    """RFC 9309, section 2.2.4: both agents share the group, whatever stands between them."""
    robots = f"User-agent: gossamer\n{line}\nUser-agent: other\n{line}\nDisallow: /x\n{line}\n"
    robots += "Disallow: /y\nUser-agent: third\nDisallow: /z"
    assert [allowed(robots, path) for path in ("/x", "/y", "/z")] == [False, False, True]


def test_one_group_may_name_us_and_everybody() -> None:
    robots = "User-agent: gossamer\nUser-agent: *\nDisallow: /x\nUser-agent: *\nDisallow: /y"
    assert [allowed(robots, path) for path in ("/x", "/y")] == [False, True]
    assert [allowed(robots, path, "other") for path in ("/x", "/y")] == [False, False]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\r\n\r",
        b"<!DOCTYPE html>\n<html><body>\n<a href='http://a.test/'>Not found: sorry</a>\n</html>",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        bytes(range(256)) * 8,
        b"{'user-agent': '*', 'disallow': '/'}",
    ],
)
def test_what_is_no_robots_txt_has_no_rules(body: bytes) -> None:
    assert parse_robots(body, AGENT).rules == ()


def test_lines_between_markup_are_used_all_the_same() -> None:
    assert not allowed("<pre>\nUser-agent: *\nDisallow: /x\n</pre>", "/x")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings_are_bridged(encoding: str) -> None:
    mark = "\ufeff" if encoding in {"utf-16-le", "utf-16-be"} else ""
    body = f"{mark}User-agent: *\nDisallow: /é\n".encode(encoding)
    assert not allowed(body, "/%C3%A9")


def test_a_path_that_is_not_utf8_is_matched_by_its_octets() -> None:
    assert not allowed(b"User-agent: *\nDisallow: /caf\xe9\n", "/caf%E9")


@pytest.mark.parametrize(
    ("lines", "delay_s"),
    [
        (["Crawl-delay: 2"], 2.0),
        (["Crawl-delay: 0.5"], 0.5),
        (["Crawl-delay : 60"], 60.0),
        (["crawl delay: 3"], 3.0),
        (["Crawl-delay: 0"], 0.0),
        (["Crawl-delay: 1", "Crawl-delay: 3", "Crawl-delay: 2"], 3.0),
        (["Crawl-delay: 1e9"], MAX_CRAWL_DELAY_S),
        (["Crawl-delay: inf"], MAX_CRAWL_DELAY_S),
        (["Crawl-delay: nan"], None),
        (["Crawl-delay: -1"], None),
        (["Crawl-delay: soon"], None),
        (["Crawl-delay: 10s"], None),
        (["Crawl-delay:"], None),
        (["Crawl-delay: \u0663"], None),
        ([], None),
    ],
)
@pytest.mark.req("B3")
def test_the_crawl_delay(lines: list[str], delay_s: float | None) -> None:
    body = "\n".join(["User-agent: *", *lines, "Disallow: /x"]).encode()
    assert parse_robots(body, AGENT).crawl_delay_s == delay_s


def test_the_crawl_delay_is_that_of_the_agents_named_before_it() -> None:
    body = b"User-agent: *\nCrawl-delay: 5\n\nUser-agent: gossamer\nDisallow: /x\nCrawl-delay: 2\n"
    assert parse_robots(body, AGENT).crawl_delay_s == 2.0
    assert parse_robots(body, "other").crawl_delay_s == 5.0
    without = b"User-agent: *\nCrawl-delay: 5\nDisallow:\nUser-agent: gossamer\nDisallow: /x\n"
    assert parse_robots(without, AGENT).crawl_delay_s is None


def padded(last: bytes, size: int = MAX_ROBOTS_BYTES) -> bytes:
    """Return a robots.txt of this size that ends in the given bytes."""
    head = b"User-agent: *\nDisallow: /first\n"
    return head + b"#" * (size - len(head) - len(last) - 1) + b"\n" + last


def test_only_the_first_500_kib_are_read() -> None:
    whole = padded(b"Disallow: /last\n")
    assert not allowed(whole, "/last")
    assert not allowed(whole + b"Disallow: /later\n", "/last")
    assert allowed(whole + b"Disallow: /later\n", "/later")


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_half_a_line_at_the_limit_is_not_read(end: bytes) -> None:
    cut = padded(b"Disallow: /last" + end + b"Disallow: /")
    assert allowed(cut + b"private/", "/x")
    assert allowed(cut, "/x")
    assert not allowed(cut, "/last")
    assert not allowed(cut, "/first")


def test_a_file_without_an_end_of_line_is_read_below_the_limit() -> None:
    assert not allowed(padded(b"Disallow: /last", MAX_ROBOTS_BYTES - 1), "/last")


def test_a_file_made_to_keep_crawlers_busy_is_refused_at_once() -> None:
    rules = parse_robots(b"User-agent: *\n" + b"Disallow: /*aaab\n" * 30_000, AGENT)
    verdict = rules.judge(Url("http://a.test/" + "a" * 8_000))
    assert verdict.refusal is Outcome.ROBOTS_DENIED
    assert "too complex" in verdict.reason
    assert rules.judge(Url("http://a.test/short")).allowed


def test_many_stars_and_a_long_url_are_judged() -> None:
    rules = parse_robots(b"User-agent: *\n" + b"Disallow: /*aaab\n" * 600, AGENT)
    assert rules.judge(Url("http://a.test/" + "a" * 8_000)).allowed


def test_many_agents_with_many_rules_are_read_in_one_pass() -> None:
    """A list of rules for each agent line would hold 225 million entries."""
    agents = b"User-agent: bot\n" * 15_000
    rules = b"".join(b"Disallow: /%d\n" % number for number in range(15_000))
    assert (
        parse_robots(agents + b"User-agent: *\n" + rules, AGENT)
        .judge(Url("http://a.test/77"))
        .reason
        == "Disallow: /77 (line 15079)"
    )


def test_no_rules_allow_everything() -> None:
    assert RobotsRules().judge(Url("http://a.test/x")).allowed


paths = st.text("/ab*$?%41", max_size=8).map(lambda text: "/" + text)
rule_lines = st.lists(
    st.tuples(st.sampled_from(["Allow", "Disallow"]), paths).map(
        lambda rule: f"{rule[0]}: {rule[1]}"
    ),
    max_size=6,
)


@relaxed
@given(st.binary(max_size=300), st.text(max_size=8), st.text(max_size=30))
def test_nothing_raises(body: bytes, agent: str, path: str) -> None:
    parse_robots(b"User-agent: *\nDisallow: /" + body, agent).judge(Url("http://a.test/" + path))
    parse_robots(body, agent).judge(Url(path))


@relaxed
@given(rule_lines.flatmap(lambda lines: st.tuples(st.just(lines), st.permutations(lines))), paths)
def test_the_order_of_rules_does_not_matter(orders: tuple[list[str], list[str]], path: str) -> None:
    one, other = (allowed("\n".join(["User-agent: *", *lines]), path) for lines in orders)
    assert one is other


@relaxed
@given(rule_lines, st.sampled_from(["\n", "\r", "\r\n"]), paths)
def test_comments_blank_lines_and_line_ends_do_not_matter(
    lines: list[str], end: str, path: str
) -> None:
    plain = "\n".join(["User-agent: *", *lines])
    dressed = end.join(["# us", "User-agent: * # all", *(f"\t{x} # why{end}{end}#" for x in lines)])
    assert allowed(dressed, path) is allowed(plain, path)


@relaxed
@given(st.text("/ab", max_size=8), st.text("/ab", min_size=1, max_size=4), rule_lines)
def test_a_longer_allow_beats_a_shorter_disallow(folder: str, rest: str, lines: list[str]) -> None:
    robots = f"User-agent: *\nDisallow: /{folder}\nAllow: /{folder}{rest}\n"
    assert allowed(robots, f"/{folder}{rest}")
    others = [line for line in lines if line.startswith("Allow")]
    assert allowed(robots + "\n".join(others), f"/{folder}{rest}/more")
