"""Rows in servers of every kind, and in none: what is refused, waited for and given up."""

import itertools
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from tests.unit.stores.redis.row_stage import (
    CRAWL,
    PREFIX,
    send,
    some_changes,
)

from gossamer.model.errors import CrawlError
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.crawls import FORMAT
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Changes, StoreAwayError

if TYPE_CHECKING:
    from redis_servers import StartServer
    from tests.unit.stores.redis.row_stage import RowStage


def test_a_read_is_tried_again_on_another_connection(stage: "RowStage") -> None:
    rows = stage.begin()
    for _ in range(3):
        stage.proxy.cut()
        assert [row.id for row in rows.read_urls([3, 1])] == [3, 1]


def test_a_server_that_was_killed_goes_on_with_what_it_has(start_redis: "StartServer") -> None:
    server = start_redis("appendonly yes", "appendfsync always", ports=("port",))
    told: list[str] = []
    rows = RedisRows(parse_address(server.tcp_url), CRAWL, tell=told.append)
    rows.take_lead()
    changes = Changes()
    changes.metadata["a"] = b"b"
    send(rows, changes)
    server.kill()
    server.start()
    send(rows, Changes())
    assert rows.metadata() == {"a": b"b"}
    assert all("trying again" in words for words in told)
    rows.close()


@pytest.mark.req("D15")
def test_a_server_that_stays_away_is_given_up(stage: "RowStage") -> None:
    moments = itertools.count(0.0, 20.0)
    rows = stage.open(clock=lambda: next(moments))
    rows.take_lead()
    stage.server.kill()
    with pytest.raises(CrawlError, match=r"the store did not answer for 60 s \(.*\)"):
        rows.read_urls([1])
    with pytest.raises(CrawlError, match="the store did not answer"):
        rows.renew_lead()
    assert len(stage.told) == 1


def test_who_lets_go_does_not_wait_for_a_server(stage: "RowStage") -> None:
    rows = stage.begin()
    stage.server.kill()
    rows.close()
    with pytest.raises(CrawlError, match="left while it was away"):
        rows.read_urls([1])


def test_nobody_there_is_said_at_once(stage: "RowStage") -> None:
    stage.server.kill()
    with pytest.raises(StoreAwayError, match="cannot be reached"):
        stage.open(url=stage.server.url)


def test_a_password_is_used_and_a_wrong_one_refused(start_redis: "StartServer") -> None:
    server = start_redis("requirepass secret", ports=("port",))
    url = f"redis://:secret@127.0.0.1:{server.port}"
    rows = RedisRows(parse_address(url), CRAWL)
    rows.take_lead()
    assert rows.metadata() == {}
    rows.close()
    for wrong in (url.replace("secret", "guess"), server.tcp_url):
        with pytest.raises(CrawlError, match="password") as caught:
            RedisRows(parse_address(wrong), CRAWL)
        assert not isinstance(caught.value, StoreAwayError)
        assert "guess" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("gossamer:{c}:rules", "…", "older version .*: finish it with that version, or start over"),
        (f"{PREFIX}format", "0", "older version"),
        (f"{PREFIX}format", str(FORMAT + 1), "newer version"),
    ],
)
def test_a_crawl_in_another_format(stage: "RowStage", name: str, value: str, said: str) -> None:
    stage.client.set(name, value)
    stage.client.set("gossamer:{other}:rules", "stays")
    rows = stage.open()
    with pytest.raises(CrawlError, match=said):
        rows.take_lead()
    assert stage.client.dbsize() == 2
    rows.take_lead(fresh=True)
    assert list(rows.known_urls()) == []
    assert stage.client.get(f"{PREFIX}format") == b"%d" % FORMAT
    assert stage.client.get("gossamer:{other}:rules") == b"stays"
    assert name == f"{PREFIX}format" or not stage.client.exists(name)


def test_who_starts_over_finds_nothing(stage: "RowStage") -> None:
    rows = stage.begin()
    send(rows, some_changes())
    rows.lead.resign()
    again = stage.open()
    again.take_lead(fresh=True)
    assert list(again.known_urls()) == []
    assert again.last_result() == 0
    assert stage.names() == {f"{PREFIX}{name}" for name in ("commit", "format", "lead")}


def test_messages_are_taken_and_sent_with_the_rest(stage: "RowStage") -> None:
    rows = stage.begin()
    assert rows.keys.messages("up") == f"{PREFIX}messages:up".encode()
    stage.client.rpush(rows.keys.messages("up"), "four")
    send(rows, some_changes())
    assert stage.messages("up") == [b"three", b"four"]
    assert stage.messages("down") == [b"a", b"b"]


def test_every_key_has_the_tag_of_the_crawl(stage: "RowStage") -> None:
    rows = stage.begin()
    send(rows, some_changes())
    assert all(name.startswith(PREFIX) for name in stage.names())
    assert "eval" not in stage.client.info("commandstats")


def test_tls_is_spoken_and_a_stranger_refused(
    start_redis: "StartServer", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    ca, both = str(tmp_path / "ca.pem"), str(tmp_path / "both.pem")
    authority.cert_pem.write_to_path(ca)
    issued.private_key_and_cert_chain_pem.write_to_path(both)
    files = (f"tls-ca-cert-file {ca}", f"tls-cert-file {both}", f"tls-key-file {both}")
    server = start_redis("tls-auth-clients no", *files, ports=("port", "tls-port"))
    address = parse_address(f"rediss://127.0.0.1:{server.ports['tls-port']}")
    with pytest.raises(CrawlError, match="is not trusted"):
        RedisRows(address, CRAWL)
    monkeypatch.setenv("SSL_CERT_FILE", ca)
    with closing(RedisRows(address, CRAWL)) as rows:
        rows.take_lead()
        send(rows, Changes())
        assert rows.metadata() == {}
