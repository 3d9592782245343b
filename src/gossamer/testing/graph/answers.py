"""The answers of the synthetic web."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gossamer.testing.graph.fates import Fate, Fates
from gossamer.testing.graph.layout import Layout
from gossamer.testing.graph.pages import Pages
from gossamer.testing.replies import KeepOpen, Raw, Reply, Reset

_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_STATUSES: Mapping[Fate, Sequence[int]] = MappingProxyType(
    {Fate.MISSING: (404, 404, 404), Fate.GONE: (410, 410, 410), Fate.SERVER_ERROR: (500, 502, 503)}
)
_SILENCE = Raw([KeepOpen()])
_BREAK = Raw([Reset()])


class Answers:
    """The answers for all hosts, each page at its exact path only.

    Another spelling is not found: a crawler must request the normal form.
    """

    def __init__(self, layout: Layout, fates: Fates, pages: Pages) -> None:
        self._layout = layout
        self._fates = fates
        self._pages = pages

    def answer(self, host: int, delay_s: float, target: str) -> Reply | Raw | None:
        """Return the answer of a host for a path and query; None if it has no such page."""
        page = self._layout.find(host, target)
        if page is None:
            return None
        match self._fates.of(page):
            case Fate.FOUND:
                return Reply(body=self._pages.html(page), delay_s=delay_s)
            case Fate.REDIRECT:
                return self._redirect(host, page, delay_s)
            case Fate.SILENT:
                return _SILENCE
            case Fate.RESET:
                return _BREAK
            case fate:
                return Reply(status=_STATUSES[fate][page % 3], delay_s=delay_s)

    def _redirect(self, host: int, page: int, delay_s: float) -> Reply:
        target = self._fates.redirects[page]
        target_host, path = self._layout.locate(target)
        location = path if target_host == host else self._layout.url(target)
        status = _REDIRECT_STATUSES[page % 5]
        return Reply(status=status, headers={"Location": location}, delay_s=delay_s)
