"""What is recorded of a task: decided without a network and a store."""

from collections.abc import Callable

import pytest

from gossamer.frontier.contract import (
    Claim,
    HostFeedback,
    KeptPage,
    Link,
    Settlement,
    Task,
    as_claimed,
)
from gossamer.model import Cause, Headers, HostKey, Outcome, Response, Url
from gossamer.model.names import ContentKind
from gossamer.policy import TREATMENTS, RobotsVerdict
from gossamer.worker import settlements
from gossamer.worker.settlements import MAX_REDIRECTS, HostFailure, HostFailures

MakeTask = Callable[..., Task]

URL = Url("http://a.test/")
LINK = Link(Url("http://a.test/b"), b"k" * 16, HostKey("a.test"), "a.test")
FEEDBACK = HostFeedback(ended=100.0, took_s=0.5)


def response(
    outcome: Outcome = Outcome.FETCHED,
    cause: Cause | None = None,
    status: int | None = 200,
    *,
    fields: dict[str, str] | None = None,
    target: str | None = None,
) -> Response:
    return Response(
        url=URL,
        outcome=outcome,
        cause=cause,
        status=status,
        headers=Headers(tuple((fields or {}).items())),
        body=b"body",
        target=Url(target) if target else None,
        started=5.0,
        ended=5.5,
    )


class TestPace:
    def test_a_page_tells_how_long_the_host_took(self) -> None:
        assert settlements.feedback_of(response(), 100.0) == HostFeedback(ended=100.0, took_s=0.5)

    @pytest.mark.parametrize("cause", list(Cause))
    def test_only_what_the_host_is_to_blame_for_counts_against_it(self, cause: Cause) -> None:
        answered = cause.name.startswith("STATUS") or cause is Cause.UNWANTED_TYPE
        failed = response(TREATMENTS[cause].outcome, cause, 500 if answered else None)
        feedback = settlements.feedback_of(failed, 100.0)
        assert feedback.failed is TREATMENTS[cause].host_level
        assert feedback.answered is answered

    @pytest.mark.req("B3")
    @pytest.mark.parametrize(
        ("status", "value", "failed", "retry_after_s"),
        [
            (429, None, True, None),
            (429, "7", True, 7.0),
            (503, "7", True, 7.0),
            (503, "soon", True, None),
            (503, None, False, None),
            (500, "7", False, None),
            (200, "7", False, None),
        ],
    )
    def test_a_wish_to_be_left_alone_is_heard(
        self, status: int, value: str | None, *, failed: bool, retry_after_s: float | None
    ) -> None:
        fields = {} if value is None else {"retry-after": value}
        answer = response(Outcome.SERVER_ERROR, Cause.STATUS_SERVER_ERROR, status, fields=fields)
        feedback = settlements.feedback_of(answer, 100.0)
        # 429 comes with its own cause; here only the status speaks.
        assert (feedback.failed, feedback.retry_after_s) == (failed, retry_after_s)


class TestFailed:
    @pytest.mark.req("D8")
    @pytest.mark.parametrize("cause", list(Cause))
    def test_what_may_pass_is_tried_once_more(self, task: MakeTask, cause: Cause) -> None:
        answer = response(TREATMENTS[cause].outcome, cause, None)
        first = settlements.failed(task(attempt=1), answer, FEEDBACK)
        second = settlements.failed(task(attempt=2), answer, FEEDBACK)
        assert first.retry is TREATMENTS[cause].retry
        assert second.retry is False
        assert (second.outcome, second.cause, second.feedback) == (answer.outcome, cause, FEEDBACK)
        assert str(cause) in second.detail

    def test_who_asks_us_to_come_again_gets_more_attempts(self, task: MakeTask) -> None:
        answer = response(Outcome.RATE_LIMITED, Cause.STATUS_RATE_LIMITED, 429)
        retries = [settlements.failed(task(attempt=n), answer, FEEDBACK).retry for n in range(1, 7)]
        assert retries == [True, True, True, True, False, False]

    @pytest.mark.parametrize(
        ("cause", "retries", "attempts"),
        [
            (Cause.STATUS_SERVER_ERROR, 0, 1),
            (Cause.STATUS_SERVER_ERROR, 3, 4),
            (Cause.STATUS_RATE_LIMITED, 0, 1),
            (Cause.STATUS_RATE_LIMITED, 2, 5),
            (Cause.STATUS_RATE_LIMITED, 9, 10),
            (Cause.STATUS_NOT_FOUND, 9, 1),
        ],
    )
    def test_the_operator_says_how_often(
        self, task: MakeTask, cause: Cause, retries: int, attempts: int
    ) -> None:
        status = 429 if cause is Cause.STATUS_RATE_LIMITED else None
        answer = response(TREATMENTS[cause].outcome, cause, status)
        made = 1
        while settlements.failed(task(attempt=made), answer, FEEDBACK, retries=retries).retry:
            made += 1
        assert made == attempts

    def test_the_status_is_told_where_it_says_more_than_the_words(self, task: MakeTask) -> None:
        error = response(Outcome.SERVER_ERROR, Cause.STATUS_SERVER_ERROR, 502)
        missing = response(Outcome.NOT_FOUND, Cause.STATUS_NOT_FOUND, 404)
        assert (
            settlements.failed(task(), error, FEEDBACK).detail
            == "the server failed (502 Bad Gateway)"
        )
        assert settlements.failed(task(), missing, FEEDBACK).detail == "the server answered 404"


class TestRedirected:
    def test_the_target_goes_on_at_the_same_depth(self, task: MakeTask) -> None:
        answer = response(Outcome.REDIRECTED, None, 301, target="http://a.test/b")
        settled = settlements.redirected(task(), answer, [LINK], FEEDBACK)
        assert (settled.outcome, settled.redirect) == (Outcome.REDIRECTED, True)
        assert settled.links == [LINK]
        assert settled.detail == "to http://a.test/b"

    def test_a_target_out_of_scope_is_named_and_left(self, task: MakeTask) -> None:
        answer = response(Outcome.REDIRECTED, None, 301, target="http://b.test/")
        settled = settlements.redirected(task(), answer, [], FEEDBACK)
        assert (settled.outcome, settled.links) == (Outcome.OUT_OF_SCOPE, ())
        assert settled.detail == "it redirects to http://b.test/, which is out of scope"

    @pytest.mark.req("D19")
    @pytest.mark.parametrize("targets", [[LINK], []])
    def test_a_chain_has_an_end(self, task: MakeTask, targets: list[Link]) -> None:
        answer = response(Outcome.REDIRECTED, None, 301, target="http://a.test/b")
        settled = settlements.redirected(task(hops=MAX_REDIRECTS), answer, targets, FEEDBACK)
        assert (settled.outcome, settled.cause) == (Outcome.BAD_REDIRECT, Cause.REDIRECT_LOOP)
        assert settled.links == ()
        assert settled.retry is False


class TestRefused:
    def test_a_rule_is_final_and_told(self, task: MakeTask) -> None:
        verdict = RobotsVerdict(Outcome.ROBOTS_DENIED, "Disallow: / (line 2)")
        settled = settlements.refused(task(), verdict, None, 200.0, None)
        assert (settled.outcome, settled.retry) == (Outcome.ROBOTS_DENIED, False)
        assert (settled.detail, settled.feedback) == ("Disallow: / (line 2)", None)

    def test_the_request_for_robots_txt_counts_for_the_pace(self, task: MakeTask) -> None:
        verdict = RobotsVerdict(Outcome.ROBOTS_DENIED, "Disallow: /")
        assert settlements.refused(task(), verdict, FEEDBACK, 200.0, None).feedback == FEEDBACK

    @pytest.mark.req("F4")
    def test_while_nobody_knows_it_is_tried_again_when_robots_txt_is(self, task: MakeTask) -> None:
        verdict = RobotsVerdict(Outcome.ROBOTS_UNREACHABLE, "500", 900.0, Cause.STATUS_SERVER_ERROR)
        first = settlements.refused(task(attempt=1), verdict, FEEDBACK, 200.0, 60.0)
        assert (first.outcome, first.retry) == (Outcome.ROBOTS_UNREACHABLE, True)
        assert first.feedback == HostFeedback(
            ended=100.0, took_s=0.5, failed=True, retry_after_s=160.0
        ), "60 s from now on, not from when the host answered"
        last = settlements.refused(task(attempt=2), verdict, None, 200.0, 60.0)
        assert last.retry is False
        assert last.feedback == HostFeedback(ended=200.0, failed=True, retry_after_s=60.0)

    @pytest.mark.parametrize(
        ("cause", "outcome", "retry"),
        [
            (Cause.NAME_NOT_FOUND, Outcome.DNS_FAILED, True),
            (Cause.CONNECTION_REFUSED, Outcome.CONNECTION_FAILED, True),
            (Cause.ADDRESS_REFUSED, Outcome.ADDRESS_REFUSED, False),
            (Cause.STATUS_RATE_LIMITED, Outcome.ROBOTS_UNREACHABLE, True),
        ],
    )
    def test_a_host_that_cannot_be_reached_is_reported_as_that(
        self, task: MakeTask, cause: Cause, outcome: Outcome, *, retry: bool
    ) -> None:
        verdict = RobotsVerdict(Outcome.ROBOTS_UNREACHABLE, "why", 900.0, cause)
        settled = settlements.refused(task(), verdict, FEEDBACK, 200.0, 5.0)
        assert (settled.outcome, settled.retry) == (outcome, retry)


def test_a_page_that_is_not_kept_is_paid_for(task: MakeTask) -> None:
    settled = settlements.unaccepted(task(), response(), ContentKind.PDF, FEEDBACK)
    assert (settled.outcome, settled.size, settled.page) == (Outcome.UNWANTED_TYPE, 4, None)
    assert settled.detail == "by its bytes it is of the kind pdf, which is not accepted"


def test_a_hopeless_host_is_not_asked(task: MakeTask) -> None:
    last, words = HostFailure(Cause.STATUS_RATE_LIMITED, 429), "its host has failed too often"
    for failure, detail in ((None, words), (last, f"{words}: 429 Too Many Requests")):
        settled = settlements.gave_up(task(host_given_up=True), failure)
        assert (settled.outcome, settled.feedback) == (Outcome.GAVE_UP, None)
        assert (settled.cause, settled.status) == (failure or (None, None))
        assert settled.detail == detail


def test_what_a_host_failed_of_is_remembered_until_it_answers(task: MakeTask) -> None:
    failures, known = HostFailures(), task()
    failed = HostFeedback(ended=1.0, failed=True, answered=False)
    for cause in (Cause.CONNECT_TIMEOUT, Cause.CONNECTION_REFUSED):
        failures.note(
            Settlement(task=known, outcome=Outcome.CONNECTION_FAILED, cause=cause, feedback=failed)
        )
    failures.note(settlements.gave_up(known, None))
    assert failures.last(known.host) == (Cause.CONNECTION_REFUSED, None)
    assert failures.last(HostKey("other.example")) is None
    failures.note(Settlement(task=known, outcome=Outcome.FETCHED, feedback=FEEDBACK))
    assert failures.last(known.host) is None


@pytest.mark.req("D9")
@pytest.mark.parametrize(
    ("likeness", "outcome", "words"),
    [
        ((None, None), Outcome.DUPLICATE, "the same content as page 3"),
        ((0.9, 0.95), Outcome.SIMILAR, "90 % like page 3, 95 % in its own content"),
        ((0.9999, 0.9), Outcome.SIMILAR, "99 % like page 3, 90 % in its own content"),
        ((1.0, 1.0), Outcome.SIMILAR, "100 % like page 3, 100 % in its own content"),
    ],
)
def test_a_page_that_repeats_another_names_it(
    task: MakeTask, likeness: tuple[float | None, float | None], outcome: Outcome, words: str
) -> None:
    whole, own = likeness
    claim = Claim(None, 3, whole, own)
    page = KeptPage(page_id=0, size=4, digest=b"d", content=b"", fetched_at=1.0)
    kept = Settlement(task=task(), outcome=Outcome.FETCHED, page=page, feedback=FEEDBACK)
    settled = as_claimed(kept, claim)
    assert (settled.outcome, settled.detail) == (outcome, words)
    assert (settled.page, settled.links, settled.retry) == (None, (), False)
