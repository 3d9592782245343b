"""Atomic steps: each happens completely or not at all."""

import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from gossamer.model.errors import CrawlError

if TYPE_CHECKING:
    from gossamer.frontier.service import Frontier

P = ParamSpec("P")
R = TypeVar("R")
Step: TypeAlias = "Callable[Concatenate[Frontier, P], Coroutine[Any, Any, R]]"


def interrupted(error: BaseException) -> CrawlError:
    """Return why a store cannot be used any more after an error that is not its own."""
    return CrawlError(
        f"the crawl was interrupted while it was writing ({type(error).__name__}): run the same "
        "command again, which continues from what was saved last"
    )


def atomic(step: "Step[P, R]") -> "Step[P, R]":
    """Make a method atomic: after one that failed, neither it nor any later one becomes durable.

    An error of the rows becomes a `CrawlError`, for this and every later step. While the server of
    the rows is away no step begins.
    """
    guarded = _guarded(step)

    @functools.wraps(step)
    async def waiting(self: "Frontier", /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.is_lost():
            await self.await_rows()
        return await guarded(self, *args, **kwargs)

    return waiting


def _guarded(step: "Step[P, R]") -> "Step[P, R]":
    @functools.wraps(step)
    async def guarded(self: "Frontier", /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.broken is not None:
            raise self.broken
        try:
            return await step(self, *args, **kwargs)
        except CrawlError as error:
            self.broken = error
            raise
        except self.rows.errors as error:
            self.broken = CrawlError(self.rows.describe_error(error))
            raise self.broken from error
        except BaseException as error:
            self.broken = interrupted(error)
            raise

    return guarded


collecting = _guarded
"""Make a method atomic that only collects what is to be written: it waits for no server."""
