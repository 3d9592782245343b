import pytest

from gossamer.display import progress_line
from gossamer.display.lines import EVENT_WORDS, OUTCOME_WORDS
from gossamer.model import Event, EventKind, Outcome

URL = "http://a.test/"


@pytest.mark.req("C10")
@pytest.mark.parametrize(
    ("kind", "depth", "line"),
    [
        (EventKind.FETCHED, 0, " 0   Fetched: http://a.test/"),
        (EventKind.SAVED, 0, " 0     Saved: http://a.test/"),
        (EventKind.SCANNING, 1, " 1   Scanning: http://a.test/"),
        (EventKind.FOUND, 2, " 2       Found: http://a.test/"),
        (EventKind.ALREADY_KNOWN, 0, " 0   IgnDupl: http://a.test/"),
        (EventKind.OUTSIDE, 0, " 0  IgnExtrn: http://a.test/"),
        (EventKind.ADDED, 10, "10               Added: http://a.test/"),
    ],
)
def test_the_columns_are_those_of_logr(kind: EventKind, depth: int, line: str) -> None:
    assert progress_line(Event(kind, depth, URL)) == line


@pytest.mark.req("C10", "F4")
def test_a_failure_has_its_own_word_and_its_reason() -> None:
    event = Event(EventKind.UNFETCHED, 1, URL, Outcome.ROBOTS_DENIED, "Disallow: /")
    assert progress_line(event) == " 1  Forbidden: http://a.test/ (Disallow: /)"


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
