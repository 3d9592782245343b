"""Whoever stood still past half a lease asks again before it acts on what it was told."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from gossamer.frontier.contract import FrontierClient, Task
from gossamer.model import HostKey, Url
from gossamer.worker.in_flight import still_held

LEASE_S = 10.0


def task(number: int) -> Task:
    url, host = Url("http://a.test/"), HostKey("a.test")
    return Task(url_id=number, lease=number, url=url, host=host, depth=0, attempt=1, hops=0)


class GuardBench:
    """A store that has lost some leases, and a clock that jumps when it is asked."""

    def __init__(self, lost: Sequence[int], moments: Sequence[float]) -> None:
        self._lost, self._moments = lost, list(moments)
        self.asked = 0

    def clock(self) -> float:
        return self._moments.pop(0) if len(self._moments) > 1 else self._moments[0]

    async def renew(self, tasks: Sequence[Task], _now: float) -> list[Task]:
        self.asked += 1
        return [task for task in tasks if task.url_id in self._lost]


@pytest.mark.req("B1", "B3")
@pytest.mark.parametrize(
    ("moments", "asked", "held"),
    [
        pytest.param([104.0], 0, [1, 2], id="at once"),
        pytest.param([105.0], 1, [1], id="after half a lease"),
        pytest.param([120.0, 120.0, 130.0, 130.0], 2, [1], id="and once more while it asked"),
    ],
)
def test_what_was_lost_meanwhile_is_not_begun(
    moments: list[float], asked: int, held: list[int]
) -> None:
    bench = GuardBench([2], moments)
    store, tasks = cast("FrontierClient", bench), [task(1), task(2)]
    found = asyncio.run(still_held(store, tasks, 100.0, bench.clock, LEASE_S))
    assert [one.url_id for one in found] == held
    assert bench.asked == asked
