import pytest

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.urls import Scope, ScopeKind

SEED = Url("http://www.a.example/docs/intro.html?page=/1")


def accepts(scope: Scope, url: str) -> bool:
    return bool(scope.judge(Url(url)))


@pytest.mark.req("F3")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.a.example/", True),
        ("https://www.a.example/x", True),
        ("http://www.a.example./x", True),
        ("http://a.example/", False),
        ("http://www.a.example:8080/", False),
        ("http://www.a.example.evil.example/", False),
        ("http://evil.example/www.a.example", False),
    ],
)
def test_host_scope_is_the_network_location_of_the_seed(url: str, expected: bool) -> None:
    assert accepts(Scope.for_seeds("host", [SEED]), url) is expected


@pytest.mark.req("F3")
def test_host_scope_keeps_the_port_of_the_seed() -> None:
    scope = Scope.for_seeds("host", [Url("http://127.0.0.1:8000/")])
    assert accepts(scope, "http://127.0.0.1:8000/x")
    assert not accepts(scope, "http://127.0.0.1:8001/x")
    assert not accepts(scope, "http://127.0.0.1/x")


def test_domain_scope_is_every_host_of_the_registered_domain() -> None:
    scope = Scope.for_seeds("domain", [Url("http://www.a.co.uk/"), Url("http://me.github.io/")])
    assert accepts(scope, "https://shop.a.co.uk:8443/")
    assert accepts(scope, "http://a.co.uk./")
    assert accepts(scope, "http://me.github.io/x")
    assert not accepts(scope, "http://b.co.uk/")
    assert not accepts(scope, "http://you.github.io/")
    assert not accepts(scope, "http://xa.co.uk/")


def test_the_domain_of_a_bare_suffix_does_not_take_in_its_customers() -> None:
    scope = Scope.for_seeds("domain", [Url("https://github.io/")])
    assert accepts(scope, "https://github.io/x")
    assert not accepts(scope, "https://me.github.io/")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.a.example/docs/", True),
        ("http://www.a.example/docs/deep/er.html", True),
        ("http://www.a.example/docs", False),
        ("http://www.a.example/docs-old/", False),
        ("http://www.a.example/", False),
        ("https://www.a.example/docs/", False),
        ("http://www.a.example:8080/docs/", False),
    ],
)
def test_prefix_scope_is_the_folder_of_the_seed(url: str, expected: bool) -> None:
    assert accepts(Scope.for_seeds("prefix", [SEED]), url) is expected


@pytest.mark.req("C2")
@pytest.mark.parametrize(
    ("prefix", "inside", "outside"),
    [
        ("http://a.example", "http://a.example/x", "http://a.example.evil/"),
        ("http://a.example", "http://a.example/", "http://a.example:8080/"),
        ("HTTP://A.Example:80/tse/", "http://a.example/tse/1.html", "http://a.example/tse"),
        ("http://a.example/tse", "http://a.example/tse2", "http://a.example/ts"),
    ],
)
def test_an_explicit_prefix_is_compared_in_normal_form(
    prefix: str, inside: str, outside: str
) -> None:
    scope = Scope.for_prefix(prefix)
    assert accepts(scope, inside)
    assert not accepts(scope, outside)


@pytest.mark.req("C2")
def test_a_prefix_that_is_no_url_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the prefix 'a\.example/tse' has no scheme"):
        Scope.for_prefix("a.example/tse")


def test_any_scope_accepts_everything() -> None:
    assert accepts(Scope.for_seeds("any", []), "https://elsewhere.example/")


def test_an_excluded_url_is_out_and_the_pattern_is_named() -> None:
    scope = Scope.for_seeds("host", [SEED], exclude=[r"\.pdf$", "[?&]print="])
    verdict = scope.judge(Url("http://www.a.example/x?print=1"))
    assert not verdict
    assert verdict.rule == "exclude"
    assert verdict.explain(Url("http://www.a.example/x?print=1")) == (
        "exclude: http://www.a.example/x?print=1 matches the pattern '[?&]print='"
    )
    assert accepts(scope, "http://www.a.example/x.pdf?y")


def test_with_include_patterns_one_must_match() -> None:
    scope = Scope.for_seeds("host", [SEED], include=["/en/", "/de/"])
    assert accepts(scope, "http://www.a.example/de/x")
    verdict = scope.judge(Url("http://www.a.example/fr/"))
    assert not verdict
    assert verdict.rule == "include"


def test_patterns_narrow_a_scope_and_never_widen_it() -> None:
    scope = Scope.for_seeds("host", [SEED], include=["x"], exclude=["y"])
    assert accepts(scope, "http://www.a.example/x")
    assert not accepts(scope, "http://www.a.example/xy")
    assert scope.judge(Url("http://b.example/x")).rule == "scope host"


@pytest.mark.req("B5")
@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (
            "host",
            "scope host: www.a.example is one of the seeds' hosts",
            "scope host: other.example:81 is not one of the seeds' hosts",
        ),
        (
            "domain",
            "scope domain: www.a.example belongs to one of the seeds' domains",
            "scope domain: other.example belongs to none of the seeds' domains",
        ),
        (
            "prefix",
            f"scope prefix: {SEED} begins with http://www.a.example/docs/",
            "scope prefix: http://other.example:81/ does not begin with http://www.a.example/docs/",
        ),
    ],
)
def test_a_verdict_explains_itself(kind: ScopeKind, inside: str, outside: str) -> None:
    scope = Scope.for_seeds(kind, [SEED])
    assert scope.judge(SEED).explain(SEED) == inside
    stranger = Url("http://other.example:81/")
    assert scope.judge(stranger).explain(stranger) == outside


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a{99999999999999999999}", "(?P<x", "\\"])
def test_a_bad_pattern_is_shown(pattern: str) -> None:
    with pytest.raises(UsageError) as raised:
        Scope.for_seeds("any", [], include=[pattern])
    assert str(raised.value).startswith(f"the include pattern {pattern!r} is not a regular")
    with pytest.raises(UsageError) as raised:
        Scope.for_seeds("any", [], exclude=[pattern])
    assert str(raised.value).startswith(f"the exclude pattern {pattern!r} is not a regular")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="the scope 'hosts' is unknown; it is one of host, domain"):
        Scope.for_seeds("hosts", [])  # type: ignore[arg-type]  # what a user's program may do
