import pytest

from gossamer.display import progress_line
from gossamer.display.lines import EVENT_WORDS, OUTCOME_WORDS
from gossamer.model import Event, EventKind, Outcome

URL = "http://a.test/"


@pytest.mark.req("C10")
def test_every_failure_has_a_word_of_its_own_that_fits_its_column() -> None:
    assert set(OUTCOME_WORDS) == set(Outcome) - {Outcome.FETCHED}
    assert set(EVENT_WORDS) == set(EventKind) - {EventKind.UNFETCHED}
    words = [*EVENT_WORDS.values(), *OUTCOME_WORDS.values()]
    assert all(1 <= len(word) <= 9 for word in words)
    # Only leaving the site has one word for two things: a link that does, and a redirect.
    assert sorted(words) == sorted([*set(words), "IgnExtrn"])


@pytest.mark.req("C10", "D19")
def test_a_link_that_is_no_url_cannot_steer_the_terminal() -> None:
    line = progress_line(Event(EventKind.OUTSIDE, 0, "javascript:\x1b[2J\r\n\u202e"))
    assert line == r" 0  IgnExtrn: javascript:\x1b[2J\r\n\u202e"


@pytest.mark.req("C10", "D19")
def test_a_trap_without_bottom_does_not_push_the_words_off_the_line() -> None:
    assert len(progress_line(Event(EventKind.FOUND, 1_000_000, URL))) < 100
