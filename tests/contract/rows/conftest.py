"""Fixtures of the tests of rows."""

import secrets
from collections.abc import Callable, Iterator

import pytest
from tests.contract.rows.setups import RedisRowsSetup, RowsSetup

KINDS = ("redis",)


@pytest.fixture(params=KINDS)
def make_setup(request: pytest.FixtureRequest) -> Iterator[Callable[[], RowsSetup]]:
    """Make empty crawls in each kind of database."""
    url: str = request.getfixturevalue("redis_url")
    setups: list[RowsSetup] = []

    def make() -> RowsSetup:
        while setups:  # the one before was compared
            setups.pop().close()
        setups.append(RedisRowsSetup(url, secrets.token_hex(4)))
        return setups[-1]

    yield make
    for setup in setups:
        setup.close()
