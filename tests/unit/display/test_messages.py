import pytest

from gossamer.display.outlet import MAX_REMEMBERED, Messages, sentence


def test_fields_follow_the_message() -> None:
    assert sentence("robots.txt is missing", {}) == "robots.txt is missing"
    assert (
        sentence("it is slow", {"host": "a.test", "tries": 3, "took": 0.5})
        == "it is slow (host=a.test, tries=3, took=0.5)"
    )


@pytest.mark.req("D19")
def test_a_message_is_one_safe_line(hostile: str) -> None:
    text = sentence(hostile, {"title": hostile})
    assert text.isprintable()
    assert "[red]x[/red]" in text


def test_a_message_that_repeats_itself_takes_one_place() -> None:
    messages = Messages()
    for _ in range(1200):
        messages.add("warning", "again")
    messages.add("info", "something else")
    assert [str(one) for one in messages.latest(3)] == [
        "warning: again (1,200 times)",
        "something else",
    ]


def test_only_what_is_serious_is_written_at_the_end_and_what_was_forgotten_is_counted() -> None:
    messages = Messages()
    messages.add("info", "begun")
    for number in range(MAX_REMEMBERED + 5):
        messages.add("error", f"failure {number}")
        messages.add("error", f"failure {number}")
    for number in range(MAX_REMEMBERED):
        messages.add("info", f"step {number}")
    written = list(messages.serious())
    assert written[0] == "earlier warnings not shown: 5"
    assert written[1] == "error: failure 5 (2 times)"
    assert written[-1] == f"error: failure {MAX_REMEMBERED + 4} (2 times)"
