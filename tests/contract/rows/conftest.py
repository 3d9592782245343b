"""Fixtures of the tests of rows."""

import secrets
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.contract.rows.setups import RedisRowsSetup, RowsSetup, SqliteRowsSetup

KINDS = ("redis", "sqlite")


@pytest.fixture(params=KINDS)
def make_setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], RowsSetup]]:
    """Make empty crawls in each kind of database."""
    setups: list[RowsSetup] = []
    numbers = count()

    def empty() -> RowsSetup:
        if request.param == "sqlite":
            return SqliteRowsSetup(tmp_path / f"{next(numbers)}.sqlite")
        url: str = request.getfixturevalue("redis_url")
        return RedisRowsSetup(url, secrets.token_hex(4))

    def make() -> RowsSetup:
        while setups:  # the one before was compared
            setups.pop().close()
        setups.append(empty())
        return setups[-1]

    yield make
    for setup in setups:
        setup.close()
