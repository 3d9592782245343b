"""Patterns of the user cannot be made to hang the crawl."""

import time

import pytest

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.urls import Scope
from gossamer.urls.scope import UrlPattern

SLOW = r"(x+x+)+y"
HOSTILE = [Url(f"http://a.test/{'x' * length}") for length in range(8_000, 7_000, -1)]


@pytest.mark.req("D19")
@pytest.mark.parametrize("role", ["include", "exclude"])
def test_a_url_that_takes_too_long_is_refused(role: str) -> None:
    patterns = {role: [SLOW]}
    scope = Scope.for_seeds("any", [Url("http://a.test/")], **patterns)  # type: ignore[arg-type]
    decision = scope.judge(HOSTILE[0])
    assert (decision.accepted, decision.rule) == (False, role)
    if role == "exclude":
        assert "takes too long" in decision.reason


@pytest.mark.req("D19")
def test_a_page_full_of_them_costs_one_time_limit() -> None:
    pattern = UrlPattern(SLOW, "exclude")
    begun = time.process_time()
    assert {pattern.matches(url) for url in HOSTILE[::-1]} == {None}
    assert time.process_time() - begun < 2, "each of the thousand would take a tenth of a second"
    assert pattern.matches(Url("http://a.test/xxy")) is True
    assert pattern.matches(Url("http://a.test/z")) is False


def test_patterns_may_look_around() -> None:
    pattern = UrlPattern(r"^http://a\.test/(?!private)", "include")
    assert pattern.matches(Url("http://a.test/b")) is True
    assert pattern.matches(Url("http://a.test/private/b")) is False


def test_what_is_no_pattern_is_said() -> None:
    with pytest.raises(UsageError, match="the include pattern '\\(' is not a regular expression"):
        UrlPattern("(", "include")
