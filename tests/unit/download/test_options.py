import math
from importlib.metadata import version
from pathlib import Path

import pytest

from gossamer.download.options import PRODUCT, FetchOptions, user_agent
from gossamer.model.errors import UsageError


@pytest.mark.req("D8")
def test_the_defaults_are_those_of_a_crawler() -> None:
    options = FetchOptions()
    assert options.max_body_bytes == 10_000_000
    assert options.total_timeout_s <= 30
    assert options.user_agent.startswith("Gossamer/")


@pytest.mark.parametrize(
    "wrong",
    [
        {"connect_timeout_s": 0},
        {"first_byte_timeout_s": -1},
        {"silence_timeout_s": math.nan},
        {"total_timeout_s": math.inf},
        {"max_body_bytes": 0},
        {"max_header_bytes": 0},
        {"max_header_count": 0},
        {"connections": 0},
    ],
    ids=str,
)
def test_a_senseless_number_is_named(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        FetchOptions(**wrong)  # type: ignore[arg-type]  # a table of wrong values


@pytest.mark.parametrize("text", ["", "  ", "a\r\nEvil: 1", "a\0b", "Jörg/1.0", "\x1b[31m"])
def test_a_user_agent_that_would_break_the_header_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="user agent"):
        FetchOptions(user_agent=text)


def test_missing_certificates_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.pem"):
        FetchOptions(ca_file=tmp_path / "none.pem")


def test_the_user_agent_says_who_we_are_and_where_to_complain() -> None:
    assert user_agent() == f"{PRODUCT}/{version('gossamer')}"
    assert user_agent("mailto:me@example.org") == f"{user_agent()} (+mailto:me@example.org)"


@pytest.mark.parametrize("contact", ["a\r\nEvil: 1", "me) (you", "a\\", "jörg@example.org"])
def test_a_contact_that_would_break_the_header_is_refused(contact: str) -> None:
    with pytest.raises(UsageError, match="contact"):
        user_agent(contact)
