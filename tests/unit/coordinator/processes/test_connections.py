"""Who has died is seen by the connections that the system has closed."""

from gossamer.coordinator.processes.joined_processes import (
    GONE_AFTER_S,
    STEADY_AFTER_S,
    Connections,
)

BOTH = ["a", "b"]


def steady() -> Connections:
    """The server has answered for long, and both were connected at 100."""
    connections = Connections()
    assert connections.dead(BOTH, {*BOTH}, 100.0 - STEADY_AFTER_S) == []
    assert connections.dead(BOTH, {*BOTH}, 100.0) == []
    return connections


def test_who_has_no_connection_for_a_while_is_dead() -> None:
    connections = steady()
    assert connections.dead(BOTH, {"a"}, 100.5) == []
    assert connections.dead(BOTH, {"a"}, 100.5 + GONE_AFTER_S) == ["b"]


def test_who_has_another_soon_lives() -> None:
    connections = steady()
    assert connections.dead(BOTH, {"a"}, 100.5) == []
    assert connections.dead(BOTH, {*BOTH}, 101.0) == []
    assert connections.dead(BOTH, {"a"}, 101.0 + GONE_AFTER_S) == []


def test_whoever_joins_a_young_frontier_and_dies_is_missed_as_soon() -> None:
    connections = Connections()
    assert connections.dead([], set(), 100.0) == []
    assert connections.dead(["a"], {"a"}, 100.5) == []
    assert connections.dead(["a"], set(), 101.0) == []
    assert connections.dead(["a"], set(), 101.0 + GONE_AFTER_S) == ["a"]


def test_whoever_had_joined_another_frontier_has_time_to_find_the_next() -> None:
    connections = Connections()
    connections.expect("a")
    assert connections.dead(["a"], set(), 100.0) == []
    assert connections.dead(["a"], set(), 99.9 + STEADY_AFTER_S) == []
    assert connections.dead(["a"], set(), 100.0 + STEADY_AFTER_S) == ["a"]


def test_who_was_never_connected_is_not_missed_unless_it_was_expected() -> None:
    connections = steady()
    connections.expect("d")
    for now in (101.0, 101.0 + STEADY_AFTER_S):
        dead = connections.dead([*BOTH, "c", "d"], {*BOTH}, now)
    assert dead == ["d"]


def test_nothing_is_concluded_soon_after_the_server_was_away() -> None:
    connections = steady()
    assert connections.dead(BOTH, None, 101.0) == []
    assert connections.dead(BOTH, set(), 102.0) == []
    assert connections.dead(BOTH, {"a"}, 101.9 + STEADY_AFTER_S) == []
    assert connections.dead(BOTH, {"a"}, 102.0 + STEADY_AFTER_S) == ["b"]
