"""The cookie jar of a domain: which lines belong to it, what has changed, how large it may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.cookies import (
    MAX_COOKIES,
    Cookie,
    CookieChanges,
    change_jar,
    find_changes,
    read_cookie,
)


def line(name: str, value: str = "1", domain: str = "www.a.test", path: str = "/") -> str:
    return f"{domain}\tFALSE\t{path}\tFALSE\t0\t{name}\t{value}"


def cookie(name: str, value: str = "1", **where: str) -> Cookie:
    found = read_cookie(line(name, value, **where), "a.test")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "domain", ["a.test", ".a.test", "www.a.test", "#HttpOnly_www.a.test", "#HttpOnly_.A.Test"]
)
def test_what_belongs_to_a_domain(domain: str) -> None:
    assert read_cookie(line("x", domain=domain), "a.test") is not None


@pytest.mark.parametrize("domain", ["test", ".test", "b.test", "xa.test", "", "a.test.b.test"])
def test_what_does_not(domain: str) -> None:
    """Above all nothing for a public suffix, which would reach the domains of others."""
    assert read_cookie(line("x", domain=domain), "a.test") is None


@pytest.mark.parametrize("bad", ["", "ALL", "a.test\tTRUE", line("x", "y" * 5000), line("x\ty")])
def test_what_is_not_a_cookie(bad: str) -> None:
    assert read_cookie(bad, "a.test") is None


def test_cookies_differ_by_name_domain_and_path() -> None:
    keys = {
        cookie("x").key,
        cookie("y").key,
        cookie("x", path="/b").key,
        cookie("x", domain=".a.test").key,
    }
    assert len(keys) == 4
    assert cookie("x", "1").key == cookie("x", "2").key
    assert cookie("x", domain=".A.test").key == cookie("x", domain=".a.test").key


def test_what_a_request_has_changed() -> None:
    jar = [cookie("stays"), cookie("changes"), cookie("goes")]
    after = [line("changes", "2"), line("stays"), line("comes"), line("bad", domain="test")]
    changes = find_changes(jar, after, "a.test")
    assert changes.changed == [cookie("changes", "2"), cookie("comes")]
    assert changes.dropped == [cookie("goes").key]
    assert changes
    assert not find_changes(jar, [one.line for one in jar], "a.test")


def test_others_may_have_changed_the_jar_meanwhile() -> None:
    changes = CookieChanges([cookie("mine")], [cookie("old").key])
    assert change_jar([cookie("old"), cookie("theirs")], changes) == [
        cookie("theirs"),
        cookie("mine"),
    ]


def test_of_too_many_those_that_were_set_last_stay() -> None:
    jar = [cookie(f"c{number}") for number in range(MAX_COOKIES)]
    found = change_jar(jar, CookieChanges([cookie("c0", "2"), cookie("new")], []))
    assert [one.key for one in found[-2:]] == [cookie("c0").key, cookie("new").key]
    assert len(found) == MAX_COOKIES
    assert cookie("c1") not in found


names = st.sampled_from([f"n{number}" for number in range(70)])
jars = st.lists(st.builds(cookie, names, st.sampled_from("12")), unique_by=lambda one: one.key)


@given(jars, jars)
def test_changes_lead_from_one_jar_to_the_other(before: list[Cookie], after: list[Cookie]) -> None:
    changes = find_changes(before, [one.line for one in after], "a.test")
    found = change_jar(before, changes)
    assert set(found) <= set(after)
    assert len(found) == min(len(after), MAX_COOKIES)
