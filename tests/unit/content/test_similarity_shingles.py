"""What of a text is compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.similarity import MAX_CHARACTERS, SHINGLE_WORDS, shingles_of, words_of


@pytest.mark.req("B8")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        (" .,;\t\n-- ", []),
        ("The end. (The END!)", ["the", "end", "the", "end"]),
        ("max_size=10, 3.5", ["max_size10", "35"]),
        ("Größe naïve", ["größe", "naïve"]),
        ("мир и мир", ["мир", "и", "мир"]),
        ("한국어 문서", ["한국어", "문서"]),
        ("用HTML写的", ["用", "html", "写", "的"]),
        ("カタカナ", ["カ", "タ", "カ", "ナ"]),
        ("ไทย", ["ไ", "ท", "ย"]),
    ],
)
def test_words_are_what_people_compare(text: str, words: list[str]) -> None:
    assert [word.decode() for word in words_of(text)] == words


def test_of_an_endless_text_the_beginning_is_compared() -> None:
    begun = "a " * (MAX_CHARACTERS // 2)
    assert words_of(begun + "b " * MAX_CHARACTERS) == words_of(begun)


def windows(words: list[bytes]) -> list[tuple[bytes, ...]]:
    """Return the runs of eight words of the ring, one beginning at each word."""
    return [
        tuple(words[(start + step) % len(words)] for step in range(SHINGLE_WORDS))
        for start in range(len(words))
    ]


WORDS = st.lists(
    st.sampled_from([b"a", b"b", b"c", b"index", b"table"]), min_size=SHINGLE_WORDS, max_size=60
)


@pytest.mark.req("B8")
@given(WORDS)
def test_runs_of_eight_have_the_same_number_if_and_only_if_they_have_the_same_words(
    words: list[bytes],
) -> None:
    # In which order the runs come is nobody's business: they are a set.
    numbers = list(shingles_of(words))
    runs = windows(words)
    assert len(numbers) == len(words)
    by_number = [numbers.count(number) for number in numbers]
    by_run = [runs.count(run) for run in runs]
    assert sorted(by_number) == sorted(by_run)


@given(WORDS, st.integers(min_value=0, max_value=100))
def test_where_the_ring_begins_makes_no_difference(words: list[bytes], turn: int) -> None:
    turned = words[turn % len(words) :] + words[: turn % len(words)]
    assert sorted(shingles_of(words)) == sorted(shingles_of(turned))


def test_the_order_of_words_counts() -> None:
    words = [f"word{number}".encode() for number in range(20)]
    assert not set(shingles_of(words)) & set(shingles_of(words[::-1]))


@pytest.mark.req("B8")
def test_a_changed_word_changes_the_eight_runs_it_is_in() -> None:
    words = [f"word{number}".encode() for number in range(100)]
    for position in (0, 50, 99):
        changed = [*words[:position], b"other", *words[position + 1 :]]
        assert len(set(shingles_of(words)) - set(shingles_of(changed))) == SHINGLE_WORDS


def test_different_runs_of_a_large_page_have_different_numbers() -> None:
    words = [b"%d" % number for number in range(100_000)]
    assert len(set(shingles_of(words))) == len(words)
