"""A pytest plugin: for how many rounds the tests are left to chance.

`make test` gives each kind of chaos one round, with a seed that is always the same, and tests of
properties draw the same examples every time: it is short, and what it says can be repeated.
`make chaos` gives them many rounds, each with another seed and other examples:

    pytest --chaos-rounds 10 tests/chaos

A test that takes part has a parameter `chaos_seed`, from 0 to the number of rounds.

The test of take-overs changes the frontier of a small crawl a few times. It does so for long, every
20 seconds, when it is told for how many minutes:

    pytest --takeover-minutes 10 tests/cluster/chaos/test_takeovers.py
"""

import pytest
from hypothesis import HealthCheck, settings


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --chaos-rounds."""
    parser.addoption(
        "--chaos-rounds",
        type=int,
        default=1,
        metavar="N",
        help="rounds of every test that kills or draws at random; more than one: other examples",
    )
    parser.addoption(
        "--takeover-minutes",
        type=float,
        default=0.0,
        metavar="MINUTES",
        help="how long the frontier of a crawl is changed every 20 s; 0: a few times at once",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how Hypothesis draws; how long that takes says nothing on a busy machine."""
    settings.register_profile(
        "gossamer",
        deadline=None,
        derandomize=config.getoption("--chaos-rounds") == 1,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("gossamer")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat the tests that take part."""
    if "chaos_seed" in metafunc.fixturenames:
        rounds = metafunc.config.getoption("--chaos-rounds")
        metafunc.parametrize("chaos_seed", range(rounds), ids="round-{}".format)
