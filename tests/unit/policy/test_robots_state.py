"""What an answer to the request for /robots.txt means."""

import pytest

from gossamer.model import Cause, Headers, Outcome, Response, Url
from gossamer.policy.robots_state import (
    FIRST_NETWORK_RETRY_S,
    FIRST_RETRY_S,
    MAX_AGE_S,
    MAX_RETRY_S,
    MAX_STALE_AGE_S,
    RobotsState,
    decide_robots,
)

AGENT = "gossamer"
ROBOTS = Url("http://a.test/robots.txt")
PAGE = Url("http://a.test/page")
NOW = 1_000_000.0

RETRY_AFTER = "retry-after"


def answer(
    outcome: Outcome,
    status: int | None = None,
    *,
    cause: Cause | None = None,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> Response:
    return Response(
        url=ROBOTS,
        outcome=outcome,
        cause=cause,
        status=status,
        headers=Headers(tuple((headers or {}).items())),
        body=body,
        started=0.0,
        ended=1.0,
    )


def file(body: bytes = b"User-agent: *\nDisallow: /page") -> Response:
    return answer(Outcome.FETCHED, 200, body=body)


def failing(headers: dict[str, str] | None = None, status: int = 503) -> Response:
    cause = Cause.STATUS_SERVER_ERROR
    return answer(Outcome.SERVER_ERROR, status, cause=cause, headers=headers)


def first_retry_s(response: Response) -> float:
    return FIRST_NETWORK_RETRY_S if response.status is None else FIRST_RETRY_S


def decide(
    response: Response, previous: RobotsState | None = None, now: float = NOW
) -> RobotsState:
    return decide_robots(response, AGENT, previous, now)


def test_a_file_holds_for_a_day() -> None:
    state = decide(file())
    assert state.judge(PAGE).refusal is Outcome.ROBOTS_DENIED
    assert state.check_at == NOW + 24 * 3600


@pytest.mark.parametrize(
    "response",
    [
        answer(Outcome.FETCHED, 200),
        answer(Outcome.BAD_HTTP, 204, cause=Cause.STATUS_UNEXPECTED),
        answer(Outcome.NOT_FOUND, 404, cause=Cause.STATUS_NOT_FOUND),
        answer(Outcome.GONE, 410, cause=Cause.STATUS_GONE),
        answer(Outcome.CLIENT_ERROR, 400, cause=Cause.STATUS_CLIENT_ERROR),
        answer(Outcome.CLIENT_ERROR, 401, cause=Cause.STATUS_CLIENT_ERROR),
        answer(Outcome.CLIENT_ERROR, 403, cause=Cause.STATUS_CLIENT_ERROR),
        answer(Outcome.CLIENT_ERROR, 499, cause=Cause.STATUS_CLIENT_ERROR),
        answer(Outcome.REDIRECTED, 301),
        answer(Outcome.BAD_REDIRECT, 302, cause=Cause.REDIRECT_UNUSABLE),
    ],
)
def test_no_file_allows_everything_for_a_day(response: Response) -> None:
    state = decide(response)
    assert state.judge(PAGE).allowed
    assert state.check_at == NOW + MAX_AGE_S
    assert state.failures == 0


UNREACHABLE = [
    failing(status=500),
    failing(),
    failing(status=599),
    answer(Outcome.RATE_LIMITED, 429, cause=Cause.STATUS_RATE_LIMITED),
    answer(Outcome.TIMED_OUT, cause=Cause.FIRST_BYTE_TIMEOUT),
    answer(Outcome.TIMED_OUT, 200, cause=Cause.TOTAL_TIMEOUT, body=b"User-ag"),
    answer(Outcome.CONNECTION_FAILED, 200, cause=Cause.CONNECTION_LOST, body=b"User-ag"),
    answer(Outcome.CONNECTION_FAILED, cause=Cause.CONNECTION_REFUSED),
    answer(Outcome.DNS_FAILED, cause=Cause.NAME_NOT_FOUND),
    answer(Outcome.TLS_FAILED, cause=Cause.CERTIFICATE_INVALID),
    answer(Outcome.ADDRESS_REFUSED, cause=Cause.ADDRESS_REFUSED),
    answer(Outcome.BAD_HTTP, cause=Cause.BAD_HTTP),
    answer(Outcome.BAD_HTTP, 200, cause=Cause.BAD_CODING),
    answer(Outcome.BAD_HTTP, 206, cause=Cause.STATUS_UNEXPECTED),
    answer(Outcome.BAD_HTTP, 304, cause=Cause.STATUS_UNEXPECTED),
    answer(Outcome.TOO_LARGE, 200, cause=Cause.BODY_TOO_LARGE),
]


@pytest.mark.req("F4")
@pytest.mark.parametrize("response", UNREACHABLE)
def test_an_unreachable_file_forbids_everything_for_now(response: Response) -> None:
    verdict = decide(response).judge(PAGE)
    assert verdict.refusal is Outcome.ROBOTS_UNREACHABLE
    assert verdict.retry_at == NOW + first_retry_s(response)
    assert verdict.reason.startswith("robots.txt is unreachable: ")


def test_the_reason_says_what_went_wrong() -> None:
    assert decide(failing()).trouble.endswith("the server answered 503")
    lost = answer(Outcome.CONNECTION_FAILED, cause=Cause.CONNECTION_REFUSED)
    assert decide(lost).trouble.endswith("the connection was refused or the host is unreachable")


def test_attempts_grow_rarer_up_to_one_an_hour() -> None:
    state = None
    waits = []
    for _ in range(2_000):
        state = decide(failing(), state)
        waits.append(state.check_at - NOW)
    assert waits[:7] == [60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0]
    assert set(waits[7:]) == {MAX_RETRY_S}
    assert decide(failing(), decide(file(), state)).check_at == NOW + FIRST_RETRY_S


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({RETRY_AFTER: "7"}, 7.0),
        ({RETRY_AFTER: " 120 "}, 120.0),
        ({RETRY_AFTER: "86400"}, MAX_RETRY_S),
        ({RETRY_AFTER: "9" * 400}, MAX_RETRY_S),
        ({RETRY_AFTER: "0"}, FIRST_RETRY_S),
        ({RETRY_AFTER: "-5"}, FIRST_RETRY_S),
        ({RETRY_AFTER: "²"}, FIRST_RETRY_S),
        ({RETRY_AFTER: "soon"}, FIRST_RETRY_S),
        ({RETRY_AFTER: ""}, FIRST_RETRY_S),
        (
            {
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
                RETRY_AFTER: "Wed, 21 Oct 2015 07:30:00 GMT",
            },
            120.0,
        ),
        (
            {
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
                RETRY_AFTER: "Fri, 31 Dec 9999 23:59:59 GMT",
            },
            MAX_RETRY_S,
        ),
        (
            {
                "date": "Wed, 21 Oct 2015 07:28:00 GMT",
                RETRY_AFTER: "Tue, 20 Oct 2015 07:28:00 GMT",
            },
            FIRST_RETRY_S,
        ),
        ({RETRY_AFTER: "Wed, 21 Oct 2015 07:30:00 GMT"}, FIRST_RETRY_S),
        ({"date": "yesterday", RETRY_AFTER: "Wed, 21 Oct 2015 07:30:00 GMT"}, FIRST_RETRY_S),
        (
            {
                "date": "Wed, 21 Oct 2015 07:28:00 -0000",
                RETRY_AFTER: "Wed, 21 Oct 2015 07:30:00 GMT",
            },
            120.0,
        ),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.req("B3")
def test_the_server_may_say_when_to_come_back(
    headers: dict[str, str], wait_s: float, status: int
) -> None:
    assert decide(failing(headers, status)).check_at == NOW + wait_s


def test_retry_after_means_nothing_on_other_errors() -> None:
    assert decide(failing({RETRY_AFTER: "7"}, 500)).check_at == NOW + FIRST_RETRY_S


@pytest.mark.parametrize("response", UNREACHABLE)
def test_a_copy_stays_in_force_while_the_file_is_unreachable(response: Response) -> None:
    later = NOW + MAX_AGE_S
    state = decide(response, decide(file()), later)
    assert state.judge(PAGE).refusal is Outcome.ROBOTS_DENIED
    assert state.judge(Url("http://a.test/other")).allowed
    assert state.check_at == later + first_retry_s(response)


def test_a_copy_is_forgotten_after_thirty_days() -> None:
    state = decide(failing(), decide(file()), NOW + MAX_AGE_S)
    almost = decide(failing(), state, NOW + MAX_STALE_AGE_S - 1)
    assert almost.judge(Url("http://a.test/other")).allowed
    over = decide(failing(), state, NOW + MAX_STALE_AGE_S)
    assert over.judge(Url("http://a.test/other")).refusal is Outcome.ROBOTS_UNREACHABLE


def test_that_there_was_no_file_is_no_copy() -> None:
    missing = answer(Outcome.NOT_FOUND, 404, cause=Cause.STATUS_NOT_FOUND)
    state = decide(failing(), decide(missing))
    assert state.judge(PAGE).refusal is Outcome.ROBOTS_UNREACHABLE
