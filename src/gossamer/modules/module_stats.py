"""The statistics of one module: every call is counted, each kind of trouble is logged once."""

import logging
from typing import Literal

import msgspec

from gossamer.model import Page
from gossamer.model.errors import GossamerError, PageRefusedError
from gossamer.modules.calls import (
    AnswerError,
    CallResult,
    CallStatus,
    describe,
    location,
    printable_message,
)
from gossamer.modules.extraction import NOTHING, Extraction

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
    failed_pages: int = 0
    """Pages it was shown and has not taken, for whichever of these reasons, or gave something for
    that is no record."""
    records: int = 0
    """Records it has extracted."""
    choices: int = 0
    """Pages among whose links it has chosen."""
    failed_choices: int = 0
    """Pages among whose links it should have."""
    ends: int = 0
    """URLs of which it was told how they ended."""
    failed_ends: int = 0
    """URLs whose end it has not taken."""
    bad_end: str | None = None
    """Why what came of it may be incomplete, if it did not end well: the rest of a sentence."""
    last_error: str | None = None

    @property
    def failure(self) -> str | None:
        """Why nothing useful may have come of it, as the rest of a sentence; None: all is well."""
        if self.bad_end is not None:
            return self.bad_end
        if self.failed_pages and not self.pages:
            return "failed on every page"
        if self.failed_choices and not self.choices:
            return "failed at the links of every page"
        if self.failed_ends and not self.ends:
            return "failed at the end of every URL"
        return None


SUMMED_COUNTS = (
    *("pages", "errors", "timed_out", "slow", "missed", "failed_pages"),
    *("records", "choices", "failed_choices", "ends", "failed_ends"),
)
"""What adds up over the processes of a crawl."""


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

    def note_page(self, page: Page, result: CallResult) -> Extraction:
        """Count how a call with a page ended, and return what it has extracted.

        A page that was refused comes again.
        """
        if isinstance(result.error, PageRefusedError):
            return NOTHING
        extraction = self._count("pages", f"page {page.id} ({page.url})", result)
        if result.status is not CallStatus.RETURNED:
            return extraction
        counts = self._counts
        if result.took_s >= self._slow_after_s:
            counts.slow += 1
            if counts.slow == 1:
                LOG.warning(
                    "module %s is slow: %.1f s for page %d (%s); the crawl waits for its modules",
                    *(self._name, result.took_s, page.id, page.url),
                )
        if self._is_stuck:
            self._is_stuck = False
            LOG.warning("module %s goes on; it has missed %d pages", self._name, counts.missed)
        return extraction

    def note_choice(self, page: Page, result: CallResult) -> None:
        """Count that a module was asked for the links to follow."""
        self._count("choices", f"the links of page {page.id} ({page.url})", result)

    def note_end(self, url: str, result: CallResult) -> Extraction:
        """Count that a module was told how a URL ended, and return what it has extracted."""
        return self._count("ends", f"the end of {url}", result)

    def _count(
        self, counter: Literal["pages", "choices", "ends"], subject: str, result: CallResult
    ) -> Extraction:
        """Count a call, or its failure; return what it has extracted."""
        counts, extraction = self._counts, NOTHING
        if result.status is not CallStatus.RETURNED:
            self.note_trouble(subject, result)
        elif isinstance(result.value, Extraction):
            extraction = result.value
            counts.records += len(extraction.records)
            if extraction.refused is not None:
                counts.errors += 1
                message = printable_message(extraction.refused)
                self._log_once(message, subject, message)
        is_taken = result.status is CallStatus.RETURNED and extraction.refused is None
        name = counter if is_taken else f"failed_{counter}"
        setattr(counts, name, getattr(counts, name) + 1)
        return extraction

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
        if result.status is CallStatus.RETURNED:
            return
        is_stuck = result.status is not CallStatus.RAISED
        self._counts.bad_end = "was given up" if is_stuck else "could not be closed"
        if result.status is CallStatus.MISSED:
            LOG.error("module %s is not closed: it is still stuck", self._name)
        else:
            self.note_trouble("closing", result)

    def _note_error(self, subject: str, error: BaseException) -> None:
        self._counts.errors += 1
        is_answer = isinstance(error, AnswerError)
        described = printable_message(error) if is_answer else describe(error, self._file)
        # Messages differ from page to page; the type and the line make the kind.
        kind = f"{type(error).__name__} {location(error, self._file)}"
        # One that ends the crawl on purpose is told by whoever ends it.
        if isinstance(error, GossamerError):
            self._counts.last_error = described
        elif self._log_once(kind, subject, described):
            LOG.debug("module %s:", self._name, exc_info=error)

    def _log_once(self, kind: str, subject: str, described: str) -> bool:
        """Log an error if it is the first of its kind; return whether it was."""
        self._counts.last_error = described
        if kind in self._kinds or len(self._kinds) >= MAX_KINDS:
            return False
        self._kinds.add(kind)
        LOG.warning(
            "module %s failed at %s: %s; more of this kind are only counted",
            *(self._name, subject, described),
        )
        return True

    def summarise(self) -> None:
        """Log the sum of the troubles, if there were any."""
        counts = self._counts
        troubles = {
            "error" if counts.errors == 1 else "errors": counts.errors,
            "timed out": counts.timed_out,
            "slow": counts.slow,
            "missed": counts.missed,
        }
        text = ", ".join(f"{count} {what}" for what, count in troubles.items() if count)
        if text:
            pages = f"{counts.pages} page{'' if counts.pages == 1 else 's'}"
            LOG.warning("module %s: %s taken, %s", self._name, pages, text)

    def report(self) -> ModuleReport:
        """Return the counts as they are now."""
        return msgspec.structs.replace(self._counts)
