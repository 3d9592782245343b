"""The statistics of one module: every call is counted, each kind of trouble is logged once."""

import logging

import msgspec

from gossamer.errors import GossamerError
from gossamer.model import Page
from gossamer.modules.calls import CallResult, CallStatus
from gossamer.plugins.failures import describe, location

LOG = logging.getLogger("gossamer.modules")

MAX_KINDS = 20
"""How many kinds of error of one module are logged."""


class ModuleReport(msgspec.Struct, kw_only=True):
    """How the calls of a module have ended so far."""

    name: str
    pages: int = 0
    """Pages it has taken, without those below."""
    errors: int = 0
    """Calls that raised."""
    timed_out: int = 0
    """Calls that exceeded the time limit."""
    slow: int = 0
    """Pages, counted above, that took longer than a module should."""
    missed: int = 0
    """Calls that were not made, because an earlier one had not returned."""
    last_error: str | None = None


class ModuleStats:
    """Counts how the calls of one module ended, and logs what is new."""

    def __init__(self, name: str, file: str | None, slow_after_s: float) -> None:
        self._name = name
        self._file = file
        self._slow_after_s = slow_after_s
        self._counts = ModuleReport(name=name)
        self._is_stuck = False
        self._kinds: set[str] = set()
        """The kinds of error that were logged."""

    def note_page(self, page: Page, result: CallResult) -> None:
        """Count how a call with a page ended."""
        if result.status is not CallStatus.RETURNED:
            self.note_trouble(f"page {page.id} ({page.url})", result)
            return
        counts = self._counts
        counts.pages += 1
        if result.took_s >= self._slow_after_s:
            counts.slow += 1
            if counts.slow == 1:
                LOG.warning(
                    "module %s is slow: %.1f s for page %d (%s); the crawl waits for its modules",
                    self._name,
                    result.took_s,
                    page.id,
                    page.url,
                )
        if self._is_stuck:
            self._is_stuck = False
            LOG.warning("module %s goes on; it has missed %d pages", self._name, counts.missed)

    def note_trouble(self, subject: str, result: CallResult) -> None:
        """Count a call that did not end well."""
        counts = self._counts
        if result.error is not None:
            self._note_error(subject, result.error)
        elif result.status is CallStatus.TIMED_OUT:
            counts.timed_out += 1
            counts.last_error = f"did not return from {subject} within {result.took_s:.1f} s"
            if counts.timed_out == 1:
                LOG.error("module %s %s; the crawl goes on", self._name, counts.last_error)
        elif result.status is CallStatus.MISSED:
            counts.missed += 1
            if not self._is_stuck:
                self._is_stuck = True
                LOG.error("module %s is still stuck and misses %s", self._name, subject)

    def note_close(self, result: CallResult) -> None:
        """Count a failure to close."""
        if result.status is CallStatus.MISSED:
            LOG.error("module %s is not closed: it is still stuck", self._name)
        elif result.status is not CallStatus.RETURNED:
            self.note_trouble("closing", result)

    def _note_error(self, subject: str, error: BaseException) -> None:
        self._counts.errors += 1
        self._counts.last_error = described = describe(error, self._file)
        # Messages differ from page to page; the type and the line make the kind.
        kind = f"{type(error).__name__} {location(error, self._file)}"
        # One that ends the crawl on purpose is told by whoever ends it.
        on_purpose = isinstance(error, GossamerError)
        if not on_purpose and kind not in self._kinds and len(self._kinds) < MAX_KINDS:
            self._kinds.add(kind)
            LOG.warning(
                "module %s failed at %s: %s; more of this kind are only counted",
                self._name,
                subject,
                described,
            )
            LOG.debug("module %s:", self._name, exc_info=error)

    def summarise(self) -> None:
        """Log the sum of the troubles, if there were any."""
        counts = self._counts
        troubles = {
            "errors": counts.errors,
            "timed out": counts.timed_out,
            "slow": counts.slow,
            "missed": counts.missed,
        }
        told = ", ".join(f"{count} {what}" for what, count in troubles.items() if count)
        if told:
            LOG.warning("module %s: %d pages taken, %s", self._name, counts.pages, told)

    def report(self) -> ModuleReport:
        """Return the counts as they are now."""
        return msgspec.structs.replace(self._counts)
