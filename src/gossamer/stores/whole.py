"""Steps that happen whole or not at all."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gossamer.errors import CrawlError
from gossamer.stores.shelf import Shelf

P = ParamSpec("P")
R = TypeVar("R")


class Breakable(Protocol):
    """Something that cannot go on after a step that ended in the middle."""

    broken: CrawlError | None
    """Why it cannot go on."""

    @property
    def shelf(self) -> Shelf:
        """Where the steps write."""


S = TypeVar("S", bound=Breakable)


def whole(
    step: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Let nothing become durable of a step that did not come to its end, nor of any after it.

    What a shelf raises is told as a `CrawlError`, then and at every later step.
    """

    @functools.wraps(step)
    async def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.broken is not None:
            raise self.broken
        try:
            return await step(self, *args, **kwargs)
        except self.shelf.errors as error:
            self.broken = CrawlError(self.shelf.complaint(error))
            raise self.broken from error
        except BaseException as error:
            self.broken = CrawlError(
                f"the crawl was broken off while it was writing ({type(error).__name__}): what it "
                "did since it last saved is lost, and the same command continues from there"
            )
            raise

    return guarded
