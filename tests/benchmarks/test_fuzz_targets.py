"""A short round of `make fuzz`, and what longer ones have found."""

import pytest
from benchmarks.fuzz.__main__ import inputs
from benchmarks.fuzz.targets import TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.req("D19")
@pytest.mark.parametrize("name", TARGETS)
def test_any_input_ends_without_an_error(name: str) -> None:
    @given(inputs(name))
    @settings(max_examples=60, deadline=None)
    def attempt(data: bytes) -> None:
        TARGETS[name](data)

    attempt()


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=100))
@settings(max_examples=30, deadline=None)
def test_plain_bytes_do_too(name: str, data: bytes) -> None:
    TARGETS[name](data)
