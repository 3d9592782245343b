"""Why URLs ended is counted with how they ended."""

from tests.contract.driver import OpenStore, StoreDriver

from gossamer.frontier.contract import HostFeedback, Settlement, Task
from gossamer.model import Cause, CauseCount, Outcome


def fail(
    driver: StoreDriver, task: Task, cause: Cause, outcome: Outcome, status: int | None
) -> None:
    driver.settle_as(
        Settlement(
            task=task,
            outcome=outcome,
            cause=cause,
            status=status,
            feedback=HostFeedback(ended=driver.now),
        )
    )


def refused(status: int, urls: int) -> CauseCount:
    return CauseCount(
        outcome=Outcome.CLIENT_ERROR, cause=Cause.STATUS_CLIENT_ERROR, status=status, urls=urls
    )


SILENT = CauseCount(outcome=Outcome.TIMED_OUT, cause=Cause.SILENCE_TIMEOUT, status=None, urls=1)


def test_failed_downloads_are_counted_by_their_cause(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9)
    driver.add_seeds("a/1", "a/2", "a/3", "a/4", "a/5", "a/6")
    first, second, third, silent, kept, denied = driver.take()
    for task, status in ((first, 403), (second, 401), (third, 403)):
        fail(driver, task, Cause.STATUS_CLIENT_ERROR, Outcome.CLIENT_ERROR, status)
    fail(driver, silent, Cause.SILENCE_TIMEOUT, Outcome.TIMED_OUT, None)
    driver.keep(kept)
    driver.settle(denied, Outcome.ROBOTS_DENIED)
    counts = {"client_error": 3, "timed_out": 1, "fetched": 1, "robots_denied": 1}
    for step in (driver.commit, driver.reopen):
        step()
        assert driver.snapshot().outcomes == counts
        assert driver.snapshot().causes == [refused(403, 2), refused(401, 1), SILENT]


def test_a_url_that_is_visited_again_is_counted_as_it_ends_then(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0, host_connections=9, revisit_s=10.0)
    driver.add_seeds("a/1", "a/2")
    refused_first, page = driver.take()
    fail(driver, refused_first, Cause.STATUS_CLIENT_ERROR, Outcome.CLIENT_ERROR, 403)
    driver.now += 11.0
    driver.keep(page, ["a/1"])
    assert driver.snapshot().causes == []
    (again,) = driver.take()
    fail(driver, again, Cause.STATUS_CLIENT_ERROR, Outcome.CLIENT_ERROR, 401)
    assert driver.snapshot().outcomes == {"fetched": 1, "client_error": 1}
    assert driver.snapshot().causes == [refused(401, 1)]
