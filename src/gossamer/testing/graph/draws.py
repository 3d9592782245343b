"""Chance that is the same in every process and every Python."""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

Draw: TypeAlias = Callable[[], float]
"""Gives the next number from 0 to below 1."""


def draws(key: int | str) -> Draw:
    """Return the numbers that belong to a key.

    Of all methods of `Random` only `random` is promised never to change, so only it is used.
    """
    return Random(key).random  # noqa: S311 -- nothing here is secret
