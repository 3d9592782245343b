"""Kinds of content: their media types, how a request asks for them, which links are followed."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Final

from gossamer.model.names import ContentKind, LinkKind

PAGES: Final = frozenset({ContentKind.HTML, ContentKind.TEXT})
"""What is read."""

UNLABELLED: Final = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})
"""Types that say nothing of the content: its bytes decide, also whether it is a page."""

BYTES: Final = frozenset(
    {
        *("application/octet-stream", "binary/octet-stream", "application/x-octet-stream"),
        *("application/download", "application/x-download", "application/force-download"),
    }
)
"""Types that say only that it is a file: its bytes decide which, but it is never a page."""

ENDLESS: Final = frozenset({"text/event-stream", "multipart/x-mixed-replace"})
"""Types of answers that never end: nobody wants to wait for one."""

_TYPES: Final[Mapping[str, ContentKind]] = {
    media_type: kind
    for kind, types in {
        ContentKind.HTML: "text/html application/xhtml+xml",
        ContentKind.XML: "text/xml application/xml application/xml-dtd",
        ContentKind.JSON: "application/json text/json text/x-json application/x-ndjson",
        ContentKind.CSV: "text/csv application/csv text/tab-separated-values",
        ContentKind.PDF: "application/pdf application/x-pdf",
        ContentKind.OFFICE: "application/msword application/rtf text/rtf application/epub+zip",
        ContentKind.AUDIO: "application/ogg",
        ContentKind.FONT: "application/font-woff application/x-font-ttf application/x-font-otf",
        ContentKind.CSS: "text/css",
        ContentKind.JS: "text/javascript application/javascript application/x-javascript "
        "text/x-javascript text/ecmascript application/ecmascript text/x-ecmascript "
        "text/jscript text/livescript",
        ContentKind.ARCHIVE: "application/zip application/gzip application/x-gzip "
        "application/x-tar application/x-gtar application/x-bzip2 application/x-xz "
        "application/zstd application/x-7z-compressed application/vnd.rar "
        "application/x-rar-compressed application/x-zip-compressed application/java-archive",
        ContentKind.OTHER: "text/vtt text/event-stream text/calendar text/vcard "
        "text/x-vcalendar text/x-vcard text/x-component text/cache-manifest",
    }.items()
    for media_type in types.split()
}
_ALSO_TEXT: Final = frozenset({"text/xml", "text/json", "text/rtf"})
_OFFICE: Final = (
    "application/vnd.oasis.opendocument.",
    "application/vnd.openxmlformats-officedocument.",
    *("application/vnd.ms-excel", "application/vnd.ms-powerpoint", "application/vnd.ms-word"),
)
_FAMILIES: Final[Mapping[str, ContentKind]] = {
    "text": ContentKind.TEXT,
    "image": ContentKind.IMAGE,
    "audio": ContentKind.AUDIO,
    "video": ContentKind.VIDEO,
    "font": ContentKind.FONT,
}
_SUFFIXES: Final = (("+xml", ContentKind.XML), ("+json", ContentKind.JSON))

_RANGES: Final[Mapping[ContentKind, str]] = {
    ContentKind.TEXT: "text/*",
    ContentKind.XML: "application/xml",
    ContentKind.JSON: "application/json",
    ContentKind.CSV: "text/csv",
    ContentKind.PDF: "application/pdf",
    ContentKind.IMAGE: "image/*",
    ContentKind.AUDIO: "audio/*",
    ContentKind.VIDEO: "video/*",
    ContentKind.FONT: "font/*",
    ContentKind.CSS: "text/css",
    ContentKind.JS: "text/javascript",
    ContentKind.ARCHIVE: "application/zip",
}

HYPERLINKS: Final = frozenset({LinkKind.A, LinkKind.AREA})
"""What a reader clicks on."""

USUAL: Final = HYPERLINKS | {
    *(LinkKind.FRAME, LinkKind.IFRAME, LinkKind.REFRESH),
    *(LinkKind.NEXT, LinkKind.PREV, LinkKind.HEADER),
}
"""Where a reader gets to. A canonical or an alternate is the same content once more: to follow them
costs a request for nothing new."""

_LEADING_TO: Final[Mapping[ContentKind, frozenset[LinkKind]]] = {
    ContentKind.IMAGE: frozenset({LinkKind.IMAGE}),
    ContentKind.AUDIO: frozenset({LinkKind.MEDIA}),
    ContentKind.VIDEO: frozenset({LinkKind.MEDIA}),
    ContentKind.CSS: frozenset({LinkKind.STYLESHEET}),
    ContentKind.JS: frozenset({LinkKind.SCRIPT}),
    ContentKind.FONT: frozenset({LinkKind.FONT}),
    ContentKind.PDF: frozenset({LinkKind.OBJECT}),
    ContentKind.XML: frozenset({LinkKind.ALTERNATE}),
    ContentKind.JSON: frozenset({LinkKind.ALTERNATE}),
    ContentKind.OTHER: frozenset({LinkKind.OBJECT}),
}
"""For files that pages refer to by other links than those of a reader. Feeds are alternates."""


def kind_of_type(media_type: str, accepted: frozenset[ContentKind] = PAGES) -> ContentKind:
    """Return the kind of content that has this type, given in lower case and without parameters.

    `text/xml` and the like are XML to those who accept XML, and a text to others.
    """
    known = _TYPES.get(media_type)
    if known is not None:
        is_text = media_type in _ALSO_TEXT and known not in accepted
        return ContentKind.TEXT if is_text else known
    family = _FAMILIES.get(media_type.partition("/")[0])
    if family is not None:
        return family
    if media_type.startswith(_OFFICE):
        return ContentKind.OFFICE
    for suffix, kind in _SUFFIXES:
        if media_type.endswith(suffix):
            return kind
    return ContentKind.OTHER


@lru_cache(16)
def accept_field(accepted: frozenset[ContentKind]) -> str:
    """Return the value of the Accept field of a request: HTML first, then what else is wanted."""
    if ContentKind.OTHER in accepted:
        wanted = ["*/*;q=0.9"]
    else:
        ranges = [_RANGES[kind] for kind in ContentKind if kind in accepted and kind in _RANGES]
        wanted = [*(f"{media_range};q=0.9" for media_range in ranges), "*/*;q=0.1"]
    return ",".join(["text/html", "application/xhtml+xml", *wanted])


def kinds_to_follow(
    words: Iterable[str] | None, accepted: Collection[ContentKind]
) -> frozenset[LinkKind]:
    """Return what `--follow` means; None: the usual kinds, and what leads to what is accepted."""
    if words is not None:
        return frozenset(map(LinkKind, words))
    return USUAL.union(*(_LEADING_TO.get(kind, frozenset()) for kind in accepted))
