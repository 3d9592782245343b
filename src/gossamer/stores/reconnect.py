"""A store that is a server and is away: how long all who work with it wait, and what they say."""

import time
from collections.abc import Callable
from typing import Final

from gossamer.model.errors import CrawlError

PATIENCE_S: Final = 60.0
"""How long a store that does not answer is waited for before the crawl is given up."""


class StoreAwayError(CrawlError):
    """The server did not answer, or was not the one that has the crawl: it may in a moment."""

    def __init__(self, words: str, trouble: str) -> None:
        super().__init__(words)
        self.trouble = trouble
        """What went wrong, in the words of whoever noticed it."""


class CrawlChangedError(CrawlError):
    """The rows are not as this process left them: another one leads, or the server has forgotten.

    Nothing is written any more; who opens the crawl again goes on with what is stored.
    """


def trying_again(trouble: str) -> str:
    """Return what is said when a store is waited for."""
    return f"The store does not answer ({trouble}); trying again."


def given_up(trouble: str, patience_s: float = PATIENCE_S) -> CrawlError:
    """Return the error of a store that was waited for in vain."""
    return CrawlError(
        f"the store did not answer for {patience_s:g} s ({trouble}): nothing that was settled is "
        "lost; run the same command again to continue"
    )


class Absence:
    """The time for which a store has been away, if it is."""

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._give_up_at: float | None = None

    def note(self, error: StoreAwayError) -> None:
        """Note that it is away, which is told once; raise when it was waited for long enough."""
        now = self._clock()
        if self._give_up_at is None:
            self._give_up_at = now + PATIENCE_S
            self._tell(trying_again(error.trouble))
        elif now >= self._give_up_at:
            raise given_up(error.trouble) from error

    def end(self) -> None:
        """Note that it answers."""
        self._give_up_at = None
