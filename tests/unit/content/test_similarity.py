"""The sketch of a page, and how alike two pages are by their sketches."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.content.similarity import (
    MIN_WORDS,
    SAMPLE_BYTES,
    SHINGLE_WORDS,
    banding_for,
    sketch,
    words_of,
)
from gossamer.model.names import Sketch, estimated_similarity

THRESHOLD = 0.9

GOLDEN_BANDS = ["57d14d1c9d9ffb36", "7a3cecbf205aba56"]
GOLDEN_SAMPLE = "7fce956ca8f3e6bce1f8893dd003071c"


def numbered(start: int, stop: int) -> str:
    return " ".join(f"word{number}" for number in range(start, stop))


def sketched(text: str, threshold: float = THRESHOLD) -> Sketch:
    made = sketch(text, threshold)
    assert made is not None
    return made


def estimate(one: str, other: str) -> float:
    return estimated_similarity(sketched(one).sample, sketched(other).sample)


def meet(one: str, other: str) -> bool:
    pairs = zip(sketched(one).bands, sketched(other).bands, strict=True)
    return any(first == second for first, second in pairs)


def exact(one: str, other: str) -> float:
    """Return the similarity by its definition."""
    first, second = ring(words_of(one)), ring(words_of(other))
    return len(first & second) / len(first | second)


def ring(words: list[bytes]) -> set[tuple[bytes, ...]]:
    around = [*words, *words[: SHINGLE_WORDS - 1]]
    return {tuple(around[start : start + SHINGLE_WORDS]) for start in range(len(words))}


def test_a_sketch_is_the_same_on_every_machine() -> None:
    # Stored crawls hold sketches: a change here makes theirs meaningless.
    made = sketched(numbered(0, 300))
    assert [band.hex() for band in made.bands[:2]] == GOLDEN_BANDS
    assert made.sample[:16].hex() == GOLDEN_SAMPLE


@pytest.mark.req("B8")
def test_pages_with_few_words_are_not_compared() -> None:
    assert sketch("", THRESHOLD) is None
    assert sketch(numbered(0, MIN_WORDS - 1), THRESHOLD) is None
    assert sketch("?! " * 1_000, THRESHOLD) is None
    assert sketch(numbered(0, MIN_WORDS), THRESHOLD) is not None


@pytest.mark.req("B8")
def test_every_sketch_has_the_same_size() -> None:
    for count in (MIN_WORDS, 1_000, 20_000):
        made = sketched(numbered(0, count))
        assert len(made.sample) == SAMPLE_BYTES
        assert {len(band) for band in made.bands} == {8}
        assert len(made.bands) == banding_for(THRESHOLD, SAMPLE_BYTES).count


def test_the_sample_does_not_depend_on_the_threshold() -> None:
    text = numbered(0, 200)
    assert sketched(text, 0.5).sample == sketched(text, 1.0).sample


@pytest.mark.req("B8")
def test_a_page_with_one_other_word_is_found_and_one_with_other_words_is_not() -> None:
    page = numbered(0, 1_000)
    copy = page.replace("word500 ", "changed ")
    assert estimate(page, copy) == pytest.approx(exact(page, copy), abs=0.02)
    assert estimate(page, copy) > 0.95
    assert meet(page, copy)
    assert estimate(page, numbered(1_000, 2_000)) < 0.03
    assert not meet(page, numbered(1_000, 2_000))


@pytest.mark.req("B8")
@pytest.mark.parametrize("position", [0, 30, 149])
def test_a_short_page_that_differs_in_one_word_is_another_page(position: int) -> None:
    # A numbered series: the number counts the same at the beginning, in the middle and at the end.
    words = numbered(0, 150).split()
    other = [*words[:position], "another", *words[position + 1 :]]
    assert exact(" ".join(words), " ".join(other)) < THRESHOLD
    assert exact(" ".join(words), " ".join(other)) == pytest.approx(142 / 158)


@pytest.mark.req("B8")
@pytest.mark.parametrize("common", [0, 200, 500, 800, 900, 950, 990])
def test_the_estimate_is_close_to_the_definition(common: int) -> None:
    one, other = numbered(0, 1_000), numbered(1_000 - common, 2_000 - common)
    assert estimate(one, other) == pytest.approx(exact(one, other), abs=0.06)


@pytest.mark.req("B8")
@given(st.integers(min_value=0, max_value=2**32), st.floats(min_value=0, max_value=0.2))
def test_whatever_was_edited_the_estimate_is_close(seed: int, share: float) -> None:
    chance = random.Random(seed)  # noqa: S311  repeatable, and no secret
    words = numbered(0, chance.randint(MIN_WORDS, 2_000)).split()
    edited = [chance.choice(words) if chance.random() < share else word for word in words]
    one, other = " ".join(words), " ".join(edited)
    # Five standard deviations.
    assert estimate(one, other) == pytest.approx(exact(one, other), abs=0.11)


@given(st.text(), st.floats(min_value=0, max_value=1))
def test_any_text_has_a_sketch_or_none(text: str, threshold: float) -> None:
    made = sketch(text * 60, threshold)
    assert (made is None) == (len(words_of(text * 60)) < MIN_WORDS)


SURROGATES = st.text(st.characters(categories=["Cs", "Ll", "Zs"]), min_size=1)


@given(SURROGATES)
def test_lone_surrogates_do_no_harm(text: str) -> None:
    sketch(f"{text} " * MIN_WORDS, THRESHOLD)


SAMPLES = st.binary(min_size=SAMPLE_BYTES, max_size=SAMPLE_BYTES)


@given(SAMPLES, SAMPLES)
def test_similarity_is_symmetric_and_between_0_and_1(one: bytes, other: bytes) -> None:
    assert estimated_similarity(one, one) == 1
    assert estimated_similarity(one, other) == estimated_similarity(other, one)
    assert 0 <= estimated_similarity(one, other) <= 1


def test_similarity_counts_equal_bytes_without_those_equal_by_chance() -> None:
    one = bytes(256)
    assert estimated_similarity(one, bytes([0]) + bytes([1]) * 255) == 0
    assert estimated_similarity(one, bytes(128) + bytes([1]) * 128) == pytest.approx(127 / 255)
    assert estimated_similarity(one, bytes([1]) * 256) == 0


def test_samples_of_different_sizes_are_not_compared() -> None:
    with pytest.raises(ValueError, match="256 and 512 bytes"):
        estimated_similarity(bytes(256), bytes(512))
