"""Plain functions as observers of a crawl."""

import inspect
import logging
from collections.abc import Callable

from gossamer.coordinator.observer import Observer, Silence
from gossamer.errors import UsageError
from gossamer.model import Event
from gossamer.plugins import describe

LOG = logging.getLogger("gossamer.observer")

ObserverLike = Observer | Callable[[Event], object]
"""What can be given as an observer."""


class EventObserver(Silence):
    """A plain function as an observer: it is called with every event, in the caller's process."""

    wants_events = True

    def __init__(self, function: Callable[[Event], object]) -> None:
        self._function = function
        self._has_failed = False

    def event(self, event: Event) -> None:
        """Call the function; what it raises stops nothing, and is logged the first time."""
        try:
            self._function(event)
        except Exception as error:  # noqa: BLE001 -- containing it is what this is for
            if not self._has_failed:
                self._has_failed = True
                LOG.warning(
                    "the observer failed at %s: %s; more failures are not shown",
                    event.url,
                    describe(error),
                )


def as_observer(given: ObserverLike | None) -> Observer:
    """Return what was given as an observer; None is silence."""
    if given is None:
        return Silence()
    if isinstance(given, Observer):
        return given
    if not callable(given):
        raise UsageError(
            f"the observer is a {type(given).__name__}: give a function that takes an Event, or an "
            "object with the methods of gossamer.coordinator.Observer"
        )
    if inspect.iscoroutinefunction(given):
        raise UsageError(
            "the observer is an async function, which nobody would await: declare it with 'def'"
        )
    return EventObserver(given)
