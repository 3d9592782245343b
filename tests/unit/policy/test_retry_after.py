"""How long a server asks us to wait."""

import pytest

from gossamer.model import Headers
from gossamer.policy.failures import retry_after_s

NOW = 784111777.0
"""Sun, 06 Nov 1994 08:49:37 GMT."""
SOON = (
    "Sun, 06 Nov 1994 08:50:37 GMT",
    "Sunday, 06-Nov-94 08:50:37 GMT",
    "Sun Nov  6 08:50:37 1994",
)
AGO = "Sun, 06 Nov 1994 08:49:36 GMT"


def asked(value: str, now: float | None = NOW, **fields: str) -> float | None:
    return retry_after_s(Headers((("retry-after", value), *fields.items())), now)


@pytest.mark.req("D19")
@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("30", 30.0),
        ("0030", 30.0),
        ("0" * 5_000 + "30", 30.0),
        ("9" * 5_000, 999_999_999.0),
        ("0", None),
        ("", None),
        ("-30", None),
        ("soon", None),
        (AGO, None),
        *((date, 60.0) for date in SOON),
    ],
)
def test_seconds_and_dates(value: str, wanted: float | None) -> None:
    assert asked(value) == wanted


@pytest.mark.parametrize("date", SOON)
def test_the_clock_of_the_server_counts_if_it_tells(date: str) -> None:
    assert asked(date, NOW - 9_999, date="Sun, 06 Nov 1994 08:50:07 GMT") == 30.0
    assert asked(date, NOW - 9_999, date="Sun Nov  6 08:50:07 1994") == 30.0
    assert asked(date, NOW, date="now") == 60.0
    assert asked(date, None) is None
