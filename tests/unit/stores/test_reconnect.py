import pytest

from gossamer.model.errors import CrawlError
from gossamer.stores.rows import ReconnectDeadline, StoreAwayError

AWAY = StoreAwayError("the server cannot be reached: check its address", "Connection refused")


def test_a_store_is_waited_for_for_a_minute_since_it_last_answered() -> None:
    now, told = 0.0, list[str]()
    deadline = ReconnectDeadline(told.append, lambda: now)
    deadline.check(AWAY)
    now = 59.0
    deadline.check(AWAY)
    deadline.reset()
    now = 100.0
    deadline.check(AWAY)
    assert told == ["The store does not answer (Connection refused); trying again."] * 2
    now = 160.0
    words = "the store did not answer for 60 s (Connection refused): nothing that was settled is"
    with pytest.raises(CrawlError, match=words.replace("(", r"\(").replace(")", r"\)")):
        deadline.check(AWAY)
