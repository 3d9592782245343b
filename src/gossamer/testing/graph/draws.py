"""Random numbers that are the same in every process and every version of Python."""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

NextRandom: TypeAlias = Callable[[], float]
"""Returns the next number from 0 to below 1."""


def draws(key: int | str) -> NextRandom:
    """Return the random numbers of a key.

    Only the method `random` of `Random` is guaranteed never to change, so only it is used.
    """
    return Random(key).random  # noqa: S311 -- nothing here is secret
