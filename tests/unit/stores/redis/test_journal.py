"""A commit notes what it changes for whoever copies: always, once, and with the commit."""

from typing import TYPE_CHECKING

import pytest
from tests.unit.stores.redis.row_stage import PREFIX, check_some_changes, send, some_changes

from gossamer.stores.redis.row_keys import read_entry
from gossamer.stores.rows import Changes

if TYPE_CHECKING:
    from tests.unit.stores.redis.row_stage import RowStage

WATCHED, JOURNAL, HOLD = f"{PREFIX}watched", f"{PREFIX}journal", f"{PREFIX}hold"


def journal(stage: "RowStage") -> list[list[int]]:
    """Return the URLs of each entry, behind the number of its commit."""
    packed = stage.client.lrange(JOURNAL, 0, -1)
    entries = [read_entry(one) for one in packed if isinstance(one, bytes)]
    return [[one.commit, *sorted(one.urls)] for one in entries]


def test_each_commit_has_its_entry(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.client.set(WATCHED, 1)
    send(rows, some_changes())
    nothing = Changes()
    nothing.metadata["name"] = b"other"
    send(rows, nothing)
    rows.renew_lead()
    assert journal(stage) == [[3, 1, 2, 4], [4]]


def test_who_begins_to_copy_between_reading_and_writing_misses_nothing(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.proxy.before_exec = lambda: stage.client.set(WATCHED, 1)
    send(rows, some_changes())
    check_some_changes(stage, rows)
    assert journal(stage) == [[3, 1, 2, 4]]


def test_who_wants_commits_to_wait_between_reading_and_writing_is_heard(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.proxy.before_exec = lambda: stage.client.set(HOLD, 1, px=60)
    send(rows, some_changes())
    check_some_changes(stage, rows)
    assert not stage.client.exists(HOLD), "it has waited"


@pytest.mark.parametrize("cut", ["cut_before", "cut_after"])
def test_a_connection_that_is_cut_gives_one_entry(stage: "RowStage", cut: str) -> None:
    rows = stage.begin()
    stage.client.set(WATCHED, 1)
    setattr(stage.proxy, cut, True)
    send(rows, some_changes())
    check_some_changes(stage, rows)
    assert journal(stage) == [[3, 1, 2, 4]]


def test_a_new_lead_has_its_entry(stage: "RowStage") -> None:
    stage.begin().lead.resign()
    stage.client.set(WATCHED, 1)
    stage.lead()
    assert journal(stage) == [[3]]
