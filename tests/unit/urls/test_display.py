import pytest

from gossamer.urls import shown


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    "dangerous", ["\x1b]0;x\x07", "\r\n", "\x00", "\x9b31m", "\u202e", "\u2066", "\ud800", "\u2028"]
)
def test_no_control_character_reaches_the_terminal(dangerous: str) -> None:
    text = shown(f"http://a/{dangerous}")
    assert text.isprintable()
    assert text.startswith("'http://a/\\")


def test_ordinary_text_is_readable() -> None:
    assert shown("http://bücher.example/") == "'http://bücher.example/'"


@pytest.mark.parametrize("text", ["x" * 101, "\x00" * 100, "x" * 1_000_000, "'\"" * 200])
def test_long_text_is_cut(text: str) -> None:
    assert len(shown(text)) <= 104
    assert shown(text)[-2] == "…"


def test_text_of_the_greatest_length_is_whole() -> None:
    assert shown("x" * 100) == f"'{'x' * 100}'"
