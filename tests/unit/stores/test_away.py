import pytest

from gossamer.model.errors import CrawlError
from gossamer.stores.reconnect import Absence, StoreAwayError

AWAY = StoreAwayError("the server cannot be reached: check its address", "Connection refused")


def test_a_store_is_waited_for_for_a_minute_since_it_last_answered() -> None:
    now, told = 0.0, list[str]()
    absence = Absence(told.append, lambda: now)
    absence.note(AWAY)
    now = 59.0
    absence.note(AWAY)
    absence.end()
    now = 100.0
    absence.note(AWAY)
    assert told == ["The store does not answer (Connection refused); trying again."] * 2
    now = 160.0
    words = "the store did not answer for 60 s (Connection refused): nothing that was settled is"
    with pytest.raises(CrawlError, match=words.replace("(", r"\(").replace(")", r"\)")):
        absence.note(AWAY)
