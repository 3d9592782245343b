import pytest

from gossamer.model import Cause, Outcome
from gossamer.policy.failures import REDIRECTS, TREATMENTS, cause_of_status


@pytest.mark.req("D8")
def test_every_cause_has_a_treatment() -> None:
    assert set(TREATMENTS) == set(Cause)


def test_no_failure_is_treated_as_success() -> None:
    """A page without markers is none: it is kept, and only its links are not followed."""
    outcomes = {TREATMENTS[cause].outcome for cause in Cause if cause is not Cause.NO_MARKERS}
    assert not outcomes & {Outcome.FETCHED, Outcome.REDIRECTED}


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (200, None),
        (203, None),
        (226, None),
        (301, None),
        (302, None),
        (303, None),
        (307, None),
        (308, None),
        (100, Cause.STATUS_UNEXPECTED),
        (101, Cause.STATUS_UNEXPECTED),
        (204, Cause.STATUS_UNEXPECTED),
        (205, Cause.STATUS_UNEXPECTED),
        (206, Cause.STATUS_UNEXPECTED),
        (300, Cause.STATUS_UNEXPECTED),
        (304, Cause.STATUS_UNEXPECTED),
        (305, Cause.STATUS_UNEXPECTED),
        (400, Cause.STATUS_CLIENT_ERROR),
        (401, Cause.STATUS_CLIENT_ERROR),
        (403, Cause.STATUS_CLIENT_ERROR),
        (404, Cause.STATUS_NOT_FOUND),
        (410, Cause.STATUS_GONE),
        (429, Cause.STATUS_RATE_LIMITED),
        (451, Cause.STATUS_CLIENT_ERROR),
        (500, Cause.STATUS_SERVER_ERROR),
        (503, Cause.STATUS_SERVER_ERROR),
        (599, Cause.STATUS_SERVER_ERROR),
        (600, Cause.STATUS_UNEXPECTED),
        (999, Cause.STATUS_UNEXPECTED),
    ],
)
def test_status_table(status: int, cause: Cause | None) -> None:
    assert cause_of_status(status) is cause


def test_only_pages_and_redirects_have_no_cause() -> None:
    without = {status for status in range(100, 1000) if cause_of_status(status) is None}
    assert without == (set(range(200, 300)) - {204, 205, 206}) | REDIRECTS


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    "cause",
    [
        Cause.CONNECTION_REFUSED,
        Cause.CONNECTION_LOST,
        Cause.CONNECT_TIMEOUT,
        Cause.FIRST_BYTE_TIMEOUT,
        Cause.STATUS_SERVER_ERROR,
        Cause.STATUS_RATE_LIMITED,
    ],
)
def test_what_may_pass_is_tried_again(cause: Cause) -> None:
    assert TREATMENTS[cause].retry


@pytest.mark.req("D8", "B6")
@pytest.mark.parametrize(
    "cause",
    [
        Cause.ADDRESS_REFUSED,
        Cause.BODY_TOO_LARGE,
        Cause.CERTIFICATE_INVALID,
        Cause.UNWANTED_TYPE,
        Cause.REDIRECT_LOOP,
        Cause.STATUS_NOT_FOUND,
        Cause.TOTAL_TIMEOUT,
    ],
)
def test_what_will_not_pass_is_left(cause: Cause) -> None:
    assert not TREATMENTS[cause].retry
