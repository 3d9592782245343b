from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.frontier.scorers.builtin import PageNumber, digits_in_name
from gossamer.model import Candidate, Url

pytestmark = pytest.mark.req("F1")


@pytest.mark.parametrize(
    ("path", "digits"),
    [
        ("/doc17.html", "17"),
        ("/2020/chapter-3.html", "3"),
        ("/part2-section10.html", "10"),
        ("/007", "007"),
        ("/0", "0"),
        ("/page/17/", "17"),
        ("/page/17//", "17"),
        ("/v1.25", "25"),
        ("/track9.mp3", "9"),
        ("/movie.mp4", None),
        ("/doc%2017.html", "17"),
        ("/doc%31%37.html", "17"),
        ("/doc17.html%20", "17"),
        ("/doc17.tar.gz", "17"),
        ("/.h5", None),
        ("/index.html", None),
        ("/", None),
        ("", None),
        ("/list?page=4", None),
        ("/doc5.html?page=4/7", "5"),
        ("/doc%D9%A3.html", None),
        ("/doc%FF8.html", "8"),
    ],
)
def test_the_number_is_the_last_run_of_digits_in_the_name(path: str, digits: str | None) -> None:
    assert digits_in_name(Url(f"http://example.com:8080{path}")) == digits


def test_larger_numbers_come_first_and_pages_without_one_last(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]]
) -> None:
    names = ["3", "10", "index", "9", "0", "010", "99999999999999999999"]
    pages = [candidate(f"http://example.com/doc{name}.html") for name in names]
    by_score = sorted(zip(scores(PageNumber(), pages), names, strict=True))
    assert [name for _, name in by_score] == [
        "99999999999999999999",
        "010",
        "10",
        "9",
        "3",
        "0",
        "index",
    ]
    assert PageNumber.strict


@settings(deadline=None)
@given(st.integers(0, 10**15))
def test_one_more_is_sooner(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]], number: int
) -> None:
    pages = [candidate(f"http://example.com/{n}") for n in (number, number + 1)]
    smaller, larger = scores(PageNumber(), pages)
    assert 0 < larger < smaller <= 50


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from("19"))
@example(308, 309, "9")
@example(324, 8000, "1")
def test_numbers_of_any_length_are_never_out_of_order(
    candidate: Callable[..., Candidate],
    scores: Callable[..., list[float]],
    one: int,
    two: int,
    digit: str,
) -> None:
    shorter, longer = sorted([one, two])
    pages = [candidate(f"http://example.com/1{digit * length}") for length in (shorter, longer)]
    smaller, larger = scores(PageNumber(), pages)
    assert 0 <= larger <= smaller <= 50
    if shorter < longer <= 307:
        assert larger < smaller
