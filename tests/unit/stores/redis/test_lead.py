"""One process writes the rows of a crawl, each commit goes through once, and nothing in halves."""

import os
import random
import threading
import time
from typing import TYPE_CHECKING

import pytest
from redis_servers import wait_until
from tests.unit.stores.redis.row_stage import (
    COMMIT,
    LEAD,
    PREFIX,
    check_some_changes,
    send,
    some_changes,
    url_row,
)

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.lead import LeadLostError, ServerForgotError
from gossamer.stores.rows import Changes

if TYPE_CHECKING:
    from tests.unit.stores.redis.row_stage import RowStage

pytestmark = pytest.mark.req("B1")


def test_a_connection_cut_before_the_commit_is_carried_out(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.proxy.cut_before = True
    send(rows, some_changes())
    assert not stage.proxy.cut_before
    check_some_changes(stage, rows)
    assert len(stage.told) == 1
    assert "trying again" in stage.told[0]


def test_a_connection_cut_after_the_commit_was_carried_out(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.proxy.cut_after = True
    send(rows, some_changes())
    assert not stage.proxy.cut_after
    check_some_changes(stage, rows)
    send(rows, Changes())
    assert rows.read_urls([1])[0].depth == 5


def test_an_answer_lost_for_longer_than_the_lead_lasts(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.proxy.cut_after = True
    stage.proxy.before_exec = lambda: stage.client.pexpire(LEAD, 1)
    send(rows, some_changes())
    check_some_changes(stage, rows)


def test_connections_that_are_cut_at_any_moment(stage: "RowStage") -> None:
    rows, drawn, has_ended = stage.begin(), random.Random(1), threading.Event()  # noqa: S311

    def cut() -> None:
        while not has_ended.wait(drawn.uniform(0.0, 0.03)):
            stage.proxy.cut()

    cutting = threading.Thread(target=cut)
    cutting.start()
    numbers = [b"%d" % number for number in range(100)]
    for number in numbers:
        changes = Changes()
        changes.sent["down"] = [number]
        send(rows, changes)
    has_ended.set()
    cutting.join()
    assert stage.told
    assert stage.messages("down") == numbers


def test_who_stood_still_while_another_took_the_lead_writes_nothing(stage: "RowStage") -> None:
    first = stage.begin(lead_s=0.05)
    sending = first.write(some_changes())
    wait_until(lambda: not stage.client.exists(LEAD))
    second = stage.lead()
    before = stage.everything()
    assert sending is not None
    with pytest.raises(LeadLostError, match="another process has taken over the crawl c"):
        sending()
    assert stage.everything() == before
    with pytest.raises(LeadLostError):
        first.renew_lead()
    first.lead.resign()
    send(second, some_changes())
    check_some_changes(stage, second)


def test_a_lead_that_is_taken_in_the_middle_of_a_commit(stage: "RowStage") -> None:
    rows = stage.begin()
    found: list[object] = []

    def take() -> None:
        stage.client.delete(LEAD)
        stage.lead(url=stage.server.url)
        found.append(stage.everything())

    stage.proxy.before_exec = take
    with pytest.raises(LeadLostError):
        send(rows, some_changes())
    assert found == [stage.everything()]


def test_who_led_and_ended_meanwhile_is_noticed(stage: "RowStage") -> None:
    first = stage.begin(lead_s=0.05)
    wait_until(lambda: not stage.client.exists(LEAD))
    second = stage.lead()
    second.lead.resign()
    before = stage.everything()
    with pytest.raises(LeadLostError):
        send(first, some_changes())
    assert stage.everything() == before


def test_a_lead_that_ran_out_and_nobody_took_is_taken_again(stage: "RowStage") -> None:
    rows = stage.begin(lead_s=0.05)
    wait_until(lambda: not stage.client.exists(LEAD))
    send(rows, some_changes())
    check_some_changes(stage, rows)
    wait_until(lambda: not stage.client.exists(LEAD))
    rows.renew_lead()
    send(rows, Changes())


def test_a_lead_that_runs_out_in_the_middle_of_a_commit(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.proxy.before_exec = lambda: stage.client.delete(LEAD)
    send(rows, some_changes())
    check_some_changes(stage, rows)
    assert stage.client.exists(LEAD)


def test_the_lead_is_prolonged_by_commits_and_by_itself(stage: "RowStage") -> None:
    rows = stage.begin()
    for prolong in (rows.renew_lead, lambda: send(rows, Changes())):
        stage.client.pexpire(LEAD, 10_000)
        prolong()
        assert stage.client.pttl(LEAD) > 50_000


def test_one_has_the_lead_at_a_time_and_others_see_who(stage: "RowStage") -> None:
    first = stage.begin()
    second = stage.open()
    holder = second.holder()
    assert holder is not None
    assert holder.pid == os.getpid()
    assert abs(holder.since - time.time()) < 60
    with pytest.raises(CrawlError, match=rf"another process works on .*process {os.getpid()} "):
        second.take_lead(0.0)
    waiting = threading.Thread(target=second.take_lead, args=[30.0])
    waiting.start()
    first.lead.resign()
    waiting.join()
    assert second.holder() != holder
    first.lead.resign()  # it is not ours any more
    assert second.holder() is not None


def test_a_server_that_was_set_back_is_noticed(stage: "RowStage") -> None:
    rows = stage.begin()
    before, dumps = stage.everything(), stage.dump()
    send(rows, some_changes())
    stage.client.delete(*stage.everything())
    for name, dump in dumps.items():
        assert dump is not None
        stage.client.restore(name, 0, dump)
    with pytest.raises(ServerForgotError, match="has lost the last writes of the crawl c"):
        send(rows, Changes())
    assert stage.everything() == before


def test_a_server_that_was_emptied_is_noticed(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.client.flushall()
    with pytest.raises(ServerForgotError):
        send(rows, some_changes())
    assert stage.everything() == {}
    with pytest.raises(ServerForgotError):
        rows.renew_lead()
    with pytest.raises(ServerForgotError):
        rows.read_urls([3])


def test_an_older_number_of_commits_is_noticed(stage: "RowStage") -> None:
    rows = stage.begin()
    older = stage.client.get(COMMIT)
    send(rows, some_changes())
    assert older is not None
    stage.client.set(COMMIT, older)
    with pytest.raises(ServerForgotError):
        rows.renew_lead()


def test_a_full_memory_refuses_all_of_a_commit(stage: "RowStage") -> None:
    rows = stage.begin()
    before = stage.everything()
    stage.client.config_set("maxmemory", 1)
    with pytest.raises(CrawlError, match=r"no memory left .*: raise its maxmemory"):
        send(rows, some_changes())
    stage.client.config_set("maxmemory", 0)
    assert stage.everything() == before
    rows.lead.resign()
    again = stage.lead()
    send(again, some_changes())
    check_some_changes(stage, again)


def test_another_thing_in_a_key_of_ours_is_told(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.client.set(f"{PREFIX}links", "strange")
    with pytest.raises(CrawlError, match="another program has written there"):
        send(rows, some_changes())


def test_a_primary_that_becomes_a_replica_is_waited_for(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.client.replicaof("127.0.0.1", "1")
    sending = rows.write(some_changes())
    assert sending is not None
    thread = threading.Thread(target=sending)
    thread.start()
    wait_until(lambda: bool(stage.told))
    stage.client.replicaof("NO", "ONE")
    thread.join()
    check_some_changes(stage, rows)


def test_reading_goes_on_while_a_commit_is_sent(stage: "RowStage") -> None:
    rows = stage.begin()
    for depth in range(1, 150):
        changes = Changes()
        changes.urls[1] = url_row(1, depth)
        changes.urls[1].score = float(depth % 5)
        expected = sorted([(float(depth % 5), 1), (2.0, 2), (3.0, 3)])
        sending = rows.write(changes)
        assert sending is not None
        thread = threading.Thread(target=sending)
        thread.start()
        is_last = False
        while not is_last:
            is_last = not thread.is_alive()
            assert rows.read_urls([1])[0].depth == depth
            assert rows.read_queue(1, 0, (float("-inf"), 0), 9) == expected
        thread.join()


def test_whoever_looks_for_a_coordinator_does_not_disturb_the_rules(stage: "RowStage") -> None:
    """They read with a connection of their own, in another thread."""
    rows, has_ended = stage.begin(), threading.Event()
    send(rows, some_changes())
    asked: list[bool] = []

    def look() -> None:
        while not has_ended.is_set():
            asked.append(rows.is_lead_wanted())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(300):
            assert [row.depth for row in rows.read_urls([1, 2, 3])] == [
                row.depth for row in rows.read_urls([1, 2, 3])
            ]
            assert rows.read_metadata(["nobody"]) == [None]
    finally:
        has_ended.set()
        looking.join()
    assert asked
    assert not any(asked)
