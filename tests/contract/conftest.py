"""The stores that the tests of the contract run with.

The tests go by the contract alone: stores.py has what differs between stores, driver.py what is
done to any of them, and model.py what must be true after that.
"""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.samples import sketch_of
from tests.contract.stores import (
    ChannelSetup,
    EmbeddedSetup,
    RedisSetup,
    SqliteSetup,
    StoreSetup,
)

from gossamer.frontier.rules import FrontierRules, SchedulerRules
from gossamer.model.names import Sketch

KINDS = ("sqlite", "sqlite with short heads", "channel", "redis")


def setup_of(kind: str, folder: Path, ask: pytest.FixtureRequest) -> StoreSetup:
    if kind == "redis":
        return RedisSetup(ask.getfixturevalue("redis_url"), secrets.token_hex(4))
    if kind == "memory":
        return EmbeddedSetup()
    if kind == "channel":
        return ChannelSetup(folder)
    return SqliteSetup(folder) if kind == "sqlite" else SqliteSetup(folder, head=2)


@pytest.fixture(params=KINDS)
def setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreSetup]:
    """Each kind of store."""
    setup = setup_of(request.param, tmp_path, request)
    yield setup
    setup.close()


@pytest.fixture(scope="session")
def make_sketch() -> Callable[..., Sketch]:
    """Make a sketch that is similar to others of its family."""
    return sketch_of


@pytest.fixture(scope="session")
def make_store(
    request: pytest.FixtureRequest,
) -> Callable[[str, Path, FrontierRules], StoreDriver]:
    """Open a store of a kind in a folder."""
    return lambda kind, folder, rules: StoreDriver(setup_of(kind, folder, request), rules)


@pytest.fixture(scope="session")
def make_strict_store(request: pytest.FixtureRequest) -> Callable[[], StoreDriver]:
    """Open a new store in memory that hands URLs out in strict order."""

    def make() -> StoreDriver:
        rules = FrontierRules(scheduler=SchedulerRules(strict=True, delay_s=0.0), similarity=None)
        driver = StoreDriver(setup_of("memory", Path(), request), rules)
        driver.join(0)
        return driver

    return make


@pytest.fixture
def open_store(setup: StoreSetup) -> OpenStore:
    """Open a store with one worker; the rules are those of store and scheduler together."""

    def open_one(*, workers: int = 1, **rules: float | None) -> StoreDriver:
        scheduler = {
            name: rules.pop(name) for name in SchedulerRules.__struct_fields__ if name in rules
        }
        assert rules.keys() <= {*FrontierRules.__struct_fields__}
        everything = {"scheduler": scheduler, **rules}
        driver = StoreDriver(setup, msgspec.convert(everything, FrontierRules, strict=False))
        driver.join(*range(workers))
        return driver

    return open_one
