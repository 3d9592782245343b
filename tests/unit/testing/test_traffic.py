import math

import msgspec

from gossamer.testing import RequestRecord, Traffic, traffic_of


def record(host: str, path: str, started: float, ended: float = math.inf) -> RequestRecord:
    return RequestRecord(host, path, "GET", b"", 1, started, ended)


def test_each_host_by_itself() -> None:
    seen = traffic_of(
        [
            record("a", "/", 1, 2),
            record("b", "/", 1.5, 2.5),
            record("a", "/x", 2, 4),
            record("a", "/y", 3, 5),
            record("a", "/z", 3.5, 3.75),
            record("c", "/", 9, 9.5),
            record("c", "/", 10, 11),
        ],
        now=20,
    )
    assert (seen.hosts["a"].requests, seen.hosts["a"].min_gap_s) == (4, -1.5)
    assert seen.hosts["a"].most_at_once == 3
    assert (seen.hosts["b"].requests, seen.hosts["b"].min_gap_s) == (1, None)
    assert (seen.hosts["c"].min_gap_s, seen.hosts["c"].most_at_once) == (0.5, 1)
    assert (seen.requests, seen.min_gap_s, seen.most_at_once) == (7, -1.5, 3)


def test_a_request_may_start_when_the_last_one_ends() -> None:
    seen = traffic_of([record("a", "/", 1, 2), record("a", "/x", 2, 3)], now=4)
    assert (seen.min_gap_s, seen.most_at_once) == (0, 1)


def test_what_was_asked_for_twice() -> None:
    asked = [record(*one, 1, 2) for one in [("a", "/x?y"), ("a", "/"), ("b", "/"), ("a", "/x?y")]]
    assert traffic_of(asked, now=4).repeated == {"http://a/x?y": 2}


def test_an_unanswered_request_goes_on_and_survives_json() -> None:
    open_ended = record("a", "/", 1)
    seen = traffic_of([open_ended, record("a", "/x", 3, 4)], now=10)
    assert (seen.min_gap_s, seen.most_at_once) == (-7, 2)
    assert open_ended.ended == math.inf, "the log itself is left alone"
    assert msgspec.json.decode(msgspec.json.encode(seen), type=Traffic) == seen


def test_no_traffic() -> None:
    seen = traffic_of([], now=1)
    assert (seen.requests, seen.min_gap_s, seen.most_at_once) == (0, None, 0)
