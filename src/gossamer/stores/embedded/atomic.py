"""Steps that happen whole or not at all.

A step that cannot begin because another process is writing (a backup, a shell that was left open)
has done nothing yet: it is tried again, with growing pauses, while downloads go on.
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gossamer.errors import CrawlError
from gossamer.stores.embedded.backend import Backend

PAUSES_S = (*(0.01 * 2**n for n in range(7)), *(1.0 for _ in range(60)))
"""How long a step waits each time it cannot begin: about a minute in all."""

P = ParamSpec("P")
R = TypeVar("R")


class Breakable(Protocol):
    """Something that cannot go on after a step that ended in the middle."""

    broken: CrawlError | None
    """Why it cannot go on."""

    @property
    def backend(self) -> Backend:
        """Where the steps write."""


S = TypeVar("S", bound=Breakable)


async def wait_until_ready(store: Breakable, pauses_s: Iterable[float] = PAUSES_S) -> None:
    """Wait until the backend can take a step; a store whose backend never can is broken."""
    for pause_s in pauses_s:
        if _is_ready(store) or store.broken is not None:
            return
        await asyncio.sleep(pause_s)
    if not _is_ready(store) and store.broken is None:
        store.broken = CrawlError(
            "another process has been writing to the file of the crawl for a minute: end it; what "
            "was saved before is whole, and the same command continues from there"
        )


def _is_ready(store: Breakable) -> bool:
    try:
        return store.backend.ready()
    except store.backend.errors as error:
        store.broken = store.broken or CrawlError(store.backend.complaint(error))
        return False


def atomic(
    step: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Let nothing become durable of a step that did not come to its end, nor of any after it.

    What a backend raises is told as a `CrawlError`, then and at every later step.
    """

    @functools.wraps(step)
    async def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not _is_ready(self):
            await wait_until_ready(self)
        if self.broken is not None:
            raise self.broken
        try:
            return await step(self, *args, **kwargs)
        except self.backend.errors as error:
            self.broken = CrawlError(self.backend.complaint(error))
            raise self.broken from error
        except BaseException as error:
            self.broken = CrawlError(
                f"the crawl was broken off while it was writing ({type(error).__name__}): what it "
                "did since it last saved is lost, and the same command continues from there"
            )
            raise

    return guarded
