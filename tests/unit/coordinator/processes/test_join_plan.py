"""How many workers a command has that joins, and what they may have under way."""

import pytest

from gossamer.config import load
from gossamer.coordinator.processes.join import JoinPlan
from gossamer.coordinator.processes.worker_pool import Autoscale, cores
from gossamer.model.errors import UsageError


@pytest.mark.parametrize(
    ("connections", "own", "joining", "expected"),
    [
        (100, 2, 1, 50),
        (100, 2, 2, 100),
        (100, 2, 4, 100),
        (100, 0, 1, 100),
        (100, 0, 4, 100),
        (9, 4, 2, 4),
    ],
)
def test_each_has_as_much_as_one_of_the_crawl_and_all_no_more_than_the_crawl(
    connections: int, own: int, joining: int, expected: int
) -> None:
    given = {"connections": connections, "workers": own, "store": "redis://localhost"}
    plan = JoinPlan.of(joining, load(given, {}).options)
    assert (plan.size, plan.connections) == (Autoscale(joining, joining), expected)


def test_as_many_as_there_is_work_for() -> None:
    plan = JoinPlan.of(None, load({}, {}).options)
    assert (plan.size, plan.connections) == (Autoscale(1, cores()), 100)


def test_what_cannot_be_shared_is_refused() -> None:
    with pytest.raises(UsageError, match="give --workers 3"):
        JoinPlan.of(4, load({"connections": 3, "workers": 1}, {}).options)
