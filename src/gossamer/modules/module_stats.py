"""What there is to say about a module: counted always, told once for each kind of trouble."""

import logging

import msgspec

from gossamer.errors import GossamerError
from gossamer.model import Page
from gossamer.modules.calls import End, Ended
from gossamer.modules.failures import describe, location

LOG = logging.getLogger("gossamer.modules")

MAX_KINDS = 20
"""How many kinds of error of one module are logged."""


class ModuleReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a module has fared so far."""

    name: str
    pages: int
    """Pages it has taken, without those below."""
    errors: int
    """Calls that raised."""
    timed_out: int
    """Calls that were given up after the time limit."""
    slow: int
    """Pages, counted above, that took longer than a module should."""
    missed: int
    """Calls that were not made, because it had not come back from an earlier one."""
    last_error: str | None


class ModuleStats:
    """Counts how the calls of one module ended, and logs what is new."""

    def __init__(self, name: str, file: str | None, slow_after_s: float) -> None:
        self._name = name
        self._file = file
        self._slow_after_s = slow_after_s
        self._pages = self._errors = self._timed_out = self._slow = self._missed = 0
        self._absent = False
        self._last_error: str | None = None
        self._kinds: set[str] = set()
        """The kinds of error that were logged."""

    def note_page(self, page: Page, ended: Ended) -> None:
        """Count how a call with a page ended."""
        if ended.end is not End.RETURNED:
            self.note_trouble(f"page {page.id} ({page.url})", ended)
            return
        self._pages += 1
        if ended.took_s >= self._slow_after_s:
            self._note_slow(page, ended.took_s)
        if self._absent:
            self._absent = False
            LOG.warning("module %s is back; it has missed %d pages", self._name, self._missed)

    def note_trouble(self, subject: str, ended: Ended) -> None:
        """Count a call that did not end well."""
        if ended.error is not None:
            self._note_error(subject, ended.error)
        elif ended.end is End.TIMED_OUT:
            self._timed_out += 1
            self._last_error = f"given up at {subject} after {ended.took_s:.1f} s"
            if self._timed_out == 1:
                LOG.error("module %s was %s", self._name, self._last_error)
        elif ended.end is End.MISSED:
            self._missed += 1
            if not self._absent:
                self._absent = True
                LOG.error("module %s has not come back and misses %s", self._name, subject)

    def note_close(self, ended: Ended) -> None:
        """Count a failure to close."""
        if ended.end is End.MISSED:
            LOG.error("module %s is not closed: it has not come back", self._name)
        elif ended.end is not End.RETURNED:
            self.note_trouble("closing", ended)

    def _note_error(self, subject: str, error: BaseException) -> None:
        self._errors += 1
        self._last_error = described = describe(error, self._file)
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

    def _note_slow(self, page: Page, took_s: float) -> None:
        self._slow += 1
        if self._slow == 1:
            LOG.warning(
                "module %s is slow: %.1f s for page %d (%s); the crawl waits for its modules",
                self._name,
                took_s,
                page.id,
                page.url,
            )

    def summarise(self) -> None:
        """Log the sum of the troubles, if there were any."""
        counts = {
            "errors": self._errors,
            "given up": self._timed_out,
            "slow": self._slow,
            "missed": self._missed,
        }
        told = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        if told:
            LOG.warning("module %s: %d pages taken, %s", self._name, self._pages, told)

    def report(self) -> ModuleReport:
        """Return the counts."""
        return ModuleReport(
            name=self._name,
            pages=self._pages,
            errors=self._errors,
            timed_out=self._timed_out,
            slow=self._slow,
            missed=self._missed,
            last_error=self._last_error,
        )
