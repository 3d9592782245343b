"""Atomic steps: each happens completely or not at all.

A step that cannot start because another process is writing (a backup, a shell that was left open),
or because a checkpoint comes to its end, has changed nothing yet: it is tried again, with growing
pauses, while downloads continue.
"""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from gossamer.errors import CrawlError

if TYPE_CHECKING:
    from gossamer.stores.embedded.store import EmbeddedStore

PAUSES_S = (
    *(0.005 for _ in range(20)),
    *(0.01 * 2**n for n in range(7)),
    *(1.0 for _ in range(60)),
)
"""The pauses of a step that cannot start, about a minute in total; a checkpoint is over soon."""

P = ParamSpec("P")
R = TypeVar("R")
Step: TypeAlias = "Callable[Concatenate[EmbeddedStore, P], Coroutine[Any, Any, R]]"


async def wait_until_ready(store: "EmbeddedStore", pauses_s: Iterable[float] = PAUSES_S) -> None:
    """Wait until the backend is ready for a step; if it never is, the store is broken."""
    for pause_s in pauses_s:
        if _is_ready(store) or store.broken is not None:
            return
        await asyncio.sleep(pause_s)
    if not _is_ready(store) and store.broken is None:
        store.broken = CrawlError(
            "another process has been writing to the file of the crawl for a minute: end it and "
            "run the same command again, which continues from what was saved"
        )


def _is_ready(store: "EmbeddedStore") -> bool:
    try:
        return store.backend.ready()
    except store.backend.errors as error:
        store.broken = store.broken or CrawlError(store.backend.complaint(error))
        return False


def atomic(step: "Step[P, R]") -> "Step[P, R]":
    """Make a method atomic: after one that failed, neither it nor any later one becomes durable.

    An error of the backend becomes a `CrawlError`, for this and every later step.
    """

    @functools.wraps(step)
    async def guarded(self: "EmbeddedStore", /, *args: P.args, **kwargs: P.kwargs) -> R:
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
                f"the crawl was interrupted while it was writing ({type(error).__name__}): run the "
                "same command again, which continues from what was saved last"
            )
            raise

    return guarded
