"""What is recorded of a task: pure functions from what happened to a `Settlement`."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from gossamer.content.links import MAX_LINK_BYTES, MAX_LINKS
from gossamer.content.page_parser import ParsedPage
from gossamer.frontier.contract import HOST_FAILED, HostFeedback, Link, Settlement, Task
from gossamer.model import Cause, HostKey, Outcome, Response
from gossamer.model.names import ContentKind
from gossamer.policy import TREATMENTS, RobotsVerdict
from gossamer.policy.failures import (
    RETRIES,
    asks_to_wait,
    is_overloaded,
    may_retry,
    retry_after_s,
    status_words,
)
from gossamer.policy.traps import TrapVerdict

MAX_REDIRECTS = 10
"""The longest chain of redirects that is followed; browsers stop at 20, RFC 2068 spoke of 5."""
MAX_HOSTS = 10_000
"""How many failing hosts a process remembers; why the others failed is not reported."""


def feedback_of(response: Response, ended: float) -> HostFeedback:
    """Return what an answer tells about how the host wants to be treated.

    `ended` is in seconds since the epoch.
    """
    cause = response.cause
    asked = asks_to_wait(response.status, response.headers)
    return HostFeedback(
        ended=ended,
        took_s=response.ended - response.started,
        failed=asked or (cause is not None and TREATMENTS[cause].host_level),
        answered=response.status is not None,
        overloaded=is_overloaded(response.status, cause),
        retry_after_s=retry_after_s(response.headers, ended) if asked else None,
    )


def gave_up(task: Task, last: "HostFailure | None") -> Settlement:
    """Settle a task of a host that was given up; `last`: why the host failed, if known."""
    cause, status = last or (None, None)
    why = cause if status is None else status_words(status)
    detail = HOST_FAILED if why is None else f"{HOST_FAILED}: {why}"
    outcome = Outcome.GAVE_UP
    return Settlement(task=task, outcome=outcome, cause=cause, detail=detail, status=status)


def over_budget(task: Task) -> Settlement:
    """Settle a task of a host whose budget is used up."""
    detail = f"the {task.exhausted_budget} of its host is used up"
    return Settlement(task=task, outcome=Outcome.HOST_OVER_BUDGET, detail=detail)


def trapped(task: Task, verdict: TrapVerdict) -> Settlement:
    """Settle a task of a trap; one that is only suspected gets behind all others of its host."""
    detail = verdict.words if verdict.stop else f"other pages of its host first: {verdict.words}"
    return Settlement(
        task=task, outcome=Outcome.TRAP, retry=not verdict.stop, cause=verdict.cause, detail=detail
    )


def refused(
    task: Task,
    verdict: RobotsVerdict,
    asked: HostFeedback | None,
    now: float,
    wait_s: float | None,
    *,
    retries: int = RETRIES,
) -> Settlement:
    """Settle a task that robots.txt forbids; retry it later while robots.txt is unreachable.

    `asked` is what the request for robots.txt told, if there was one just now; `wait_s` is how long
    there is not to be another. A host that cannot be reached at all is reported as such, not as one
    without robots.txt.
    """
    assert verdict.refusal is not None
    outcome, cause = verdict.refusal, verdict.cause
    if verdict.retry_at is None:
        return Settlement(task=task, outcome=outcome, detail=verdict.reason, feedback=asked)
    is_asked = cause is Cause.STATUS_RATE_LIMITED
    if cause is not None and TREATMENTS[cause].host_level and not is_asked:
        outcome = TREATMENTS[cause].outcome
    feedback = asked or HostFeedback(ended=now)
    # The host rests from the end of its last request, which is a moment ago.
    rest_s = None if wait_s is None else wait_s + now - feedback.ended
    return Settlement(
        task=task,
        outcome=outcome,
        retry=task.attempt <= retries and outcome is not Outcome.ADDRESS_REFUSED,
        cause=cause,
        detail=verdict.reason,
        feedback=msgspec.structs.replace(feedback, failed=True, retry_after_s=rest_s),
    )


def redirected(
    task: Task,
    response: Response,
    targets: Sequence[Link],
    feedback: HostFeedback,
    *,
    again: bool = False,
) -> Settlement:
    """Settle a redirect; its target is followed if it is in scope.

    `again`: also if it has only redirected before, for now there are cookies to show there.
    A page that gives way to another at once is a redirect, too.
    """
    by = "" if response.outcome is Outcome.REDIRECTED else " by a refresh"
    outcome, cause, detail = Outcome.REDIRECTED, None, f"to {response.target}{by}"
    if task.hops >= MAX_REDIRECTS:
        outcome, cause = Outcome.BAD_REDIRECT, Cause.REDIRECT_LOOP
        detail = f"more than {MAX_REDIRECTS} redirects in a row"
    elif not targets:
        outcome = Outcome.OUT_OF_SCOPE
        detail = f"it redirects to {response.target}{by}, which is out of scope"
    is_followed = outcome is Outcome.REDIRECTED
    return Settlement(
        task=task,
        outcome=outcome,
        cause=cause,
        detail=detail,
        status=response.status,
        links=targets if is_followed else (),
        redirect=is_followed,
        again=is_followed and again,
        feedback=feedback,
    )


def unfollowed_links_detail(parsed: ParsedPage) -> str:
    """Return which links of a page are not followed, in words; empty: all that were found are."""
    if parsed.markers_missing:
        return str(Cause.NO_MARKERS)
    if not parsed.links_left_out:
        return ""
    bound = f"{MAX_LINKS:,} links and {MAX_LINK_BYTES // 1_000_000} MB of URLs"
    return f"{parsed.links_left_out:,} of its links are left out: a page may have {bound}"


def failed(
    task: Task, response: Response, feedback: HostFeedback, *, retries: int = RETRIES
) -> Settlement:
    """Settle an attempt without a page, or have it tried again."""
    asked = asks_to_wait(response.status, response.headers)
    return Settlement(
        task=task,
        outcome=response.outcome,
        retry=may_retry(response.cause, task.attempt, asked=asked, retries=retries),
        cause=response.cause,
        detail=_failure_detail(response),
        status=response.status,
        feedback=feedback,
    )


def unaccepted(
    task: Task, response: Response, kind: ContentKind, feedback: HostFeedback
) -> Settlement:
    """Settle a body that is not what its content type says, and not kept."""
    is_known = kind is not ContentKind.OTHER
    what = f"of the kind {kind}, which is not" if is_known else "of no kind that is"
    return Settlement(
        task=task,
        outcome=Outcome.UNWANTED_TYPE,
        detail=f"by its bytes it is {what} accepted",
        status=response.status,
        size=len(response.body),
        feedback=feedback,
    )


def _failure_detail(response: Response) -> str:
    shown = response.status not in (None, HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
    status = f" ({status_words(response.status)})" if shown and response.status else ""
    detail = f": {response.detail}" if response.detail else ""
    return f"{response.cause}{status}{detail}"


class HostFailure(NamedTuple):
    """Why a host failed: the cause, and the HTTP status if it answered."""

    cause: Cause
    status: int | None


class HostFailures:
    """Remembers why each failing host last failed."""

    def __init__(self) -> None:
        self._last: dict[HostKey, HostFailure] = {}

    def note(self, settlement: Settlement) -> None:
        """Note how a request ended; one that did not fail clears what was remembered."""
        feedback, host = settlement.feedback, settlement.task.host
        if feedback is None:
            return
        self._last.pop(host, None)
        if not feedback.failed or settlement.cause is None:
            return
        if len(self._last) >= MAX_HOSTS:
            del self._last[next(iter(self._last))]  # it has not failed for longest
        self._last[host] = HostFailure(settlement.cause, settlement.status)

    def last(self, host: HostKey) -> HostFailure | None:
        """Return why a host last failed; None if that is not known here."""
        return self._last.get(host)
