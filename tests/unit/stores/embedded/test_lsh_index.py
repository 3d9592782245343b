"""The index of bands: who shares one is found, who was forgotten is not."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.stores.embedded.lsh_index import (
    MAX_CANDIDATES,
    MAX_SHARING,
    PARTS,
    LshIndex,
    keys_of,
)
from gossamer.stores.embedded.sqlite import SqliteBackend

BANDS = 8


def bands(*values: int) -> list[int]:
    return keys_of(b"".join(value.to_bytes(8, "big") for value in values))


def test_pages_that_share_a_band_are_candidates_those_that_share_most_first() -> None:
    index = LshIndex(SqliteBackend().band_table())
    index.add(1, bands(10, 20, 30))
    index.add(2, bands(10, 21, 31))
    index.add(3, bands(10, 20, 32))
    index.add(4, bands(11, 22, 33))
    assert index.candidates(bands(10, 20, 99)) == [1, 3, 2]
    assert index.candidates(bands(98, 97, 96)) == []


def test_a_band_counts_only_at_its_position() -> None:
    index = LshIndex(SqliteBackend().band_table())
    index.add(1, bands(10, 20))
    assert index.candidates(bands(20, 10)) == []
    assert index.candidates(bands(20, 20)) == [1]


def test_an_entry_names_only_the_last_pages() -> None:
    index = LshIndex(SqliteBackend().band_table())
    for number in range(1, 1000):
        index.add(number, bands(10, number))
    found = index.candidates(bands(10))
    assert found == list(range(1000 - MAX_SHARING, 1000))
    for number in range(1, 1000):
        index.discard(number, bands(10, number))
    assert len(index) == 0


def test_few_pages_are_compared_however_many_share_something() -> None:
    index = LshIndex(SqliteBackend().band_table())
    for number in range(1, 301):
        index.add(number, bands(*(number // 20 if at == number % BANDS else at for at in range(8))))
    assert len(index.candidates(bands(*range(8)))) == MAX_CANDIDATES


a_page = st.lists(st.integers(0, 3), min_size=3, max_size=3)


@given(st.lists(a_page, max_size=12), st.data())
def test_it_finds_what_a_search_through_all_pages_finds(
    pages: list[list[int]], data: st.DataObject
) -> None:
    index = LshIndex(SqliteBackend().band_table())
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
    index = LshIndex(SqliteBackend().band_table())
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


def pages_with_keys(count: int) -> dict[int, list[int]]:
    """Return pages with bands of their own, and two that many of them share."""
    pages = {}
    for number in range(1, count + 1):
        own = hashlib.shake_256(b"%d" % number).digest(8 * (BANDS - 2))
        pages[number] = keys_of(b"%08d%08d" % (number % 3, number % 50) + own)
    return pages


@pytest.mark.req("B8")
def test_memory_is_bounded_and_every_page_is_found_all_the_same() -> None:
    pages = pages_with_keys(1_500)
    bounded, unbounded = (LshIndex(SqliteBackend().band_table(), most) for most in (2_000, 10**6))
    for number, keys in pages.items():
        for index in (bounded, unbounded):
            index.add(number, keys)
        if number % 7 == 0:
            assert len(bounded) <= 2_000
            for index in (bounded, unbounded):
                index.discard(number - 5, pages[number - 5])
    for keys in pages.values():
        assert bounded.candidates(keys) == unbounded.candidates(keys)


@pytest.mark.req("B8", "D10")
def test_what_was_moved_to_the_store_is_not_read_into_memory_again() -> None:
    pages, backend = pages_with_keys(1_500), SqliteBackend()
    before = LshIndex(backend.band_table(), 2_000)
    for number, keys in pages.items():
        before.add(number, keys)
    before.discard(3, pages[3])
    before.add(3, pages[4])  # the number was free again
    complete_to = backend.band_table().complete_to
    assert 200 < complete_to < 1_500, f"there are {PARTS} parts, each of which was moved"
    after = LshIndex(backend.band_table(), 2_000)
    for number, keys in pages.items():
        if number > complete_to:
            after.add(number, keys)
    for keys in pages.values():
        assert after.candidates(keys) == before.candidates(keys)


def test_what_was_not_moved_completely_is_begun_again() -> None:
    pages, backend = pages_with_keys(20), SqliteBackend()
    before = LshIndex(backend.band_table(), 100)
    for number, keys in pages.items():
        before.add(number, keys)
    assert before.candidates(pages[1])
    assert LshIndex(backend.band_table(), 100).candidates(pages[1]) == []
