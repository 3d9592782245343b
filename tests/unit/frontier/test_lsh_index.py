"""The index of bands: who shares one is found, who was forgotten is not."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.claims import MAX_CANDIDATES, MAX_SHARING, LshIndex, keys_of

BANDS = 8


def bands(*values: int) -> list[bytes]:
    return keys_of(b"".join(value.to_bytes(8, "big") for value in values))


def test_pages_that_share_a_band_are_candidates_those_that_share_most_first() -> None:
    index = LshIndex()
    index.add(1, bands(10, 20, 30))
    index.add(2, bands(10, 21, 31))
    index.add(3, bands(10, 20, 32))
    index.add(4, bands(11, 22, 33))
    assert index.candidates(bands(10, 20, 99)) == [1, 3, 2]
    assert index.candidates(bands(98, 97, 96)) == []


def test_a_band_counts_only_at_its_position() -> None:
    index = LshIndex()
    index.add(1, bands(10, 20))
    assert index.candidates(bands(20, 10)) == []
    assert index.candidates(bands(20, 20)) == [1]


def test_an_entry_names_only_the_last_pages() -> None:
    index = LshIndex()
    for number in range(1, 1000):
        index.add(number, bands(10, number))
    found = index.candidates(bands(10))
    assert found == list(range(1000 - MAX_SHARING, 1000))
    for number in range(1, 1000):
        index.discard(number, bands(10, number))
    assert len(index) == 0


def test_few_pages_are_compared_however_many_share_something() -> None:
    index = LshIndex()
    for number in range(1, 301):
        index.add(number, bands(*(number // 20 if at == number % BANDS else at for at in range(8))))
    assert len(index.candidates(bands(*range(8)))) == MAX_CANDIDATES


a_page = st.lists(st.integers(0, 3), min_size=3, max_size=3)


@given(st.lists(a_page, max_size=12), st.data())
def test_it_finds_what_a_search_through_all_pages_finds(
    pages: list[list[int]], data: st.DataObject
) -> None:
    index = LshIndex()
    kept = dict(enumerate(pages, 1))
    for number, page in kept.items():
        index.add(number, bands(*page))
    for number in data.draw(st.lists(st.sampled_from(sorted(kept)))) if kept else []:
        index.discard(number, bands(*pages[number - 1]))
        kept.pop(number, None)
    wanted = data.draw(a_page)
    expected = {
        number: sum(one == other for one, other in zip(page, wanted, strict=True))
        for number, page in kept.items()
    }
    found = index.candidates(bands(*wanted))
    assert found == sorted(
        (number for number, shared in expected.items() if shared),
        key=lambda number: (-expected[number], number),
    )
    if not kept:
        assert len(index) == 0


@pytest.mark.req("B8")
def test_nothing_is_left_of_pages_that_were_forgotten() -> None:
    index = LshIndex()
    pages = {
        number: keys_of(hashlib.shake_256(b"%d" % number).digest(8 * BANDS))
        for number in range(1, 5000)
    }
    for number, keys in pages.items():
        index.add(number, keys)
    assert len(index) == BANDS * len(pages)
    for number, keys in pages.items():
        index.discard(number, keys)
    assert len(index) == 0
