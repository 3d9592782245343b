"""The kinds of content and of links, by the words that options use for them."""

from enum import StrEnum


class ContentKind(StrEnum):
    """The kind of a body: a page (HTML or text), which is read, or a file, which is not."""

    HTML = "html"
    TEXT = "text"
    XML = "xml"
    JSON = "json"
    CSV = "csv"
    PDF = "pdf"
    OFFICE = "office"
    """What word processors and the like write, and electronic books."""
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    FONT = "font"
    CSS = "css"
    JS = "js"
    ARCHIVE = "archive"
    OTHER = "other"
    """Everything else."""

    @property
    def is_page(self) -> bool:
        """Whether it has a text, and perhaps links."""
        return self is ContentKind.HTML or self is ContentKind.TEXT


class LinkKind(StrEnum):
    """The kind of a link, by how the page refers to its target; `docs/links.md` has the markup."""

    A = "a"
    AREA = "area"
    FRAME = "frame"
    IFRAME = "iframe"
    REFRESH = "refresh"
    """A page that is to be replaced by another after some time."""
    NEXT = "next"
    PREV = "prev"
    ALTERNATE = "alternate"
    CANONICAL = "canonical"
    HEADER = "header"
    """Not a kind by itself: whether links of the other kinds also count in the `Link` header."""
    IMAGE = "image"
    MEDIA = "media"
    """Audio and video."""
    OBJECT = "object"
    """What is embedded and may be anything."""
    STYLESHEET = "stylesheet"
    SCRIPT = "script"
    FONT = "font"
