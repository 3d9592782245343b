"""The contents of a page: links, title, base and meta elements, however they were found.

The elements come from the tree of the page (`reader.py`) or, where there is no doubt about them,
from a scan of its text (`scan.py`). What is noted of an element is said here, once for both.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, TypeAlias

from gossamer.content.language import first_language
from gossamer.content.references import Tag, references_of, relation_of, tags_for
from gossamer.content.refresh import Refresh, parse_refresh
from gossamer.kinds import LinkKind

MAX_TITLE_LENGTH: Final = 500
MAX_HREFS: Final = 100_000

_MAX_BASES: Final = 100
_MAX_METAS: Final = 1_000
_MAX_META_LENGTH: Final = 1_000

WHITE_SPACE: Final = "\t\n\f\r "


class PageContents(ABC):
    """The contents of a page, as written: its links of the kinds to follow, and the rest."""

    def __init__(self, follow: frozenset[LinkKind]) -> None:
        self.title: str | None = None
        self.hrefs: list[str] = []
        self.kinds: list[LinkKind] = []
        """The kind of each link."""
        self.refresh: Refresh | None = None
        """The first one, as browsers heed no other."""
        self.bases: list[str] = []
        self.metas: list[tuple[str, str]] = []
        self._follow = follow
        self._root_languages: tuple[str | None, ...] = ()
        self._meta_language: str | None = None

    @property
    def language(self) -> str:
        """The language that the page names; empty if it does not."""
        return first_language((*self._root_languages, self._meta_language))

    @property
    def markers_missing(self) -> bool:
        """Whether the page should have markers and has none."""
        return False

    @abstractmethod
    def take_text(self) -> str:
        """Return the visible text. The tree cannot be used afterwards."""

    @abstractmethod
    def take_run(self) -> str:
        """Return the visible text as one run of characters, in a third of the time.

        Words with only a tag between them run together.
        """

    def note_root(self, element: Tag) -> None:
        """Note the `html` element."""
        self._root_languages = element.attr("lang"), element.attr("xml:lang")

    def note_link(self, element: Tag, kind: LinkKind = LinkKind.A) -> None:
        """Note an element with `href`."""
        href = element.attr("href")
        if href is not None:
            self.add_link(href, kind)

    def note_related(self, element: Tag) -> None:
        """Note a `link`; or an `a` or `area` if only its relation is followed."""
        kind = relation_of(element)
        if kind is not None and kind in self._follow:
            self.note_link(element, kind)

    def note_references(self, element: Tag) -> None:
        """Note what another element leads to."""
        for kind, href in references_of(element):
            if kind in self._follow:
                self.add_link(href, kind)

    def add_link(self, href: str, kind: LinkKind) -> None:
        """Add a link, up to the limit."""
        if len(self.hrefs) < MAX_HREFS:
            self.hrefs.append(href.strip(WHITE_SPACE))
            self.kinds.append(kind)

    def note_base(self, element: Tag) -> None:
        """Note what links are relative to."""
        href = element.attr("href")
        if href is not None and len(self.bases) < _MAX_BASES:
            self.bases.append(href.strip(WHITE_SPACE))

    def note_meta(self, element: Tag) -> None:
        """Note a name with its content, and a refresh."""
        name, content = element.attr("name"), element.attr("content")
        if content is None:
            return
        if name and len(self.metas) < _MAX_METAS:
            self.metas.append((name[:_MAX_META_LENGTH], content[:_MAX_META_LENGTH]))
        else:
            self._note_pragma(element, content)

    def _note_pragma(self, element: Tag, content: str) -> None:
        name = (element.attr("http-equiv") or "").strip(WHITE_SPACE).lower()
        if name == "content-language" and self._meta_language is None:
            self._meta_language = content
        # In a noscript it sends people away who would miss the scripts; we want the text.
        if name == "refresh" and self.refresh is None and not self.is_in_noscript():
            self.refresh = parse_refresh(content)

    def is_in_noscript(self) -> bool:
        """Return whether the element at hand is in a `noscript`."""
        return False

    def note_title(self, element: Tag) -> None:
        """Note the title, if it is the first."""
        if self.title is None:
            words = element.text[: 10 * MAX_TITLE_LENGTH].split()
            self.title = " ".join(words)[:MAX_TITLE_LENGTH]


Handler: TypeAlias = Callable[[Any, Tag], None]
"""What is done with an element of a page, as a method of the page."""


@cache
def handlers_for(page: type[PageContents], follow: frozenset[LinkKind]) -> Mapping[str, Handler]:
    """Return what is done with which elements; a crawl has one or two such sets."""
    handlers: dict[str, Handler] = {
        "base": page.note_base,
        "meta": page.note_meta,
        "title": page.note_title,
    }
    handlers |= dict.fromkeys(tags_for(follow), page.note_references)
    if "link" in handlers:
        handlers |= dict.fromkeys(("link", "a", "area"), page.note_related)
    if LinkKind.A in follow:
        handlers["a"] = page.note_link
    if LinkKind.AREA in follow:
        handlers["area"] = partial(page.note_link, kind=LinkKind.AREA)
    return handlers
