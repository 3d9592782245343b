"""What a worker works with, as small as it can be: a store in memory and a web of our own."""

import time
from collections.abc import Callable, Iterator

import pytest

from gossamer.frontier.contract import Task
from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.frontier.service import Frontier
from gossamer.model import Url
from gossamer.stores.sqlite.rows import SqliteRows
from gossamer.testing import Web
from gossamer.urls import host_key

DELAY_S = 0.1


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as running:
        yield running


@pytest.fixture
def store() -> Frontier:
    """Return a store that keeps a pause of 100 ms."""
    rules = FrontierRules(scheduler=SchedulerRules(delay_s=DELAY_S))
    return Frontier(SqliteRows(), rules, time.time())


@pytest.fixture
def task() -> Callable[..., Task]:
    """Return a way to make tasks of which most does not matter."""

    def make(
        url: str = "http://a.test/",
        *,
        depth: int = 0,
        attempt: int = 1,
        hops: int = 0,
        host_given_up: bool = False,
    ) -> Task:
        return Task(
            url_id=1,
            lease=1,
            url=Url(url),
            host=host_key(Url(url)),
            depth=depth,
            attempt=attempt,
            hops=hops,
            host_given_up=host_given_up,
        )

    return make
