"""Paths of files for pages: from a URL, which the web wrote, to a name that is safe on any disk.

The rules, in their order:

- `HOST/…`, or `HOST+PORT/…`; a directory for each further segment of the path, and a file for the
  last one: `index` if it is empty, with `@` and the query if there is one.
- Escapes of letters are decoded. What is not a letter, a digit or one of `-.~=,+()!` becomes `_`;
  so there is never a `/`, a `..`, a hidden name, or one that begins like an option.
- A file ends in an extension by its content type, in place of a `.html` that the URL has. A
  directory does not end in one: if it seems to, it gets `~` at its end. So a page `/a` and the
  pages under `/a/`, or under `/a.html/`, have room beside each other.
- A name that Windows reserves gets `_` at its end. One that is too long is cut and gets a hash of
  its URL, and so does one that differs only in case, or in nothing, from the name of another page:
  the page that was kept first has the plain name.
"""

import mimetypes
import re
import unicodedata
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import xxhash

from gossamer.content.links import ResolvedLinks
from gossamer.model import Url

START_NAME: Final = "index.html"
"""The file at the top of a mirror."""
MAX_SEGMENT_BYTES: Final = 100
MAX_PATH_BYTES: Final = 200
"""Windows allows 259 characters with the folder that it is in."""

UNKNOWN_TYPE: Final = "application/octet-stream"

_TYPES: Final = mimetypes.MimeTypes()
_TYPES.types_map[1].update({".webp": "image/webp", ".woff2": "font/woff2", ".woff": "font/woff"})
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_VAGUE: Final = frozenset({"text/plain", UNKNOWN_TYPE})
"""Types of style sheets, scripts, images and data, too, as servers send them."""
_UNSAFE: Final = re.compile(r"[^\w\-.~=,+()!]")
_EXTENSION: Final = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}", re.ASCII)
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def page_path(url: Url, extension: str) -> str:
    """Return the path of a page's file, relative to its output, with `/` between the parts."""
    parts = urlsplit(url)
    *folders, last = parts.path.removeprefix("/").split("/")
    name = last or "index"
    for ending in (extension, ".html", ".htm"):
        if name.lower().endswith(ending):
            name = name[: -len(ending)] or "index"
            break
    host = _folder(parts.hostname or "", is_host=True)
    if parts.port is not None:
        host += f"+{parts.port}"
    path = "/".join(
        (host, *map(_folder, filter(None, folders)), _file(name, parts.query) + extension)
    )
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"{host}/long~/{_hash(url)}{extension}"
    return path


def free_path(url: Url, extension: str, is_taken: Callable[[str], bool]) -> str:
    """Return a path for a page that no other has; `is_taken` is asked in terms of `folded`."""
    path = plain = page_path(url, extension)
    tries = 0
    while is_taken(folded(path)):  # a page can take the name that another would get by its hash
        path = f"{plain.removesuffix(extension)}~{_hash(url + '#' * tries)}{extension}"
        tries += 1
    return path


def folded(path: str) -> str:
    """Return the path as a disk compares it that knows no case, or no composed letters."""
    return unicodedata.normalize("NFC", path.casefold())


def extension_of(url: Url, content_type: str) -> str:
    """Return the extension for a body of this type (as `type/subtype`): the URL's own if it fits.

    It never says that something is HTML that was not sent as such.
    """
    if content_type in _HTML:
        return ".html"
    suffix = PurePosixPath(urlsplit(url).path).suffix.lower()
    guessed = _TYPES.guess_type(f"x{suffix}")[0] if _EXTENSION.fullmatch(suffix) else None
    if guessed is not None and guessed == content_type:
        return suffix
    if guessed not in {None, *_HTML} and content_type in _VAGUE:
        return suffix
    return _TYPES.guess_extension(content_type) or ".bin"


def relative_link(source: str, target: str) -> str:
    """Return the link from one file of an output to another."""
    here, there = source.split("/")[:-1], target.split("/")
    shared = 0
    while shared < min(len(here), len(there) - 1) and here[shared] == there[shared]:
        shared += 1
    return quote("/".join([".."] * (len(here) - shared) + there[shared:]), safe="/~=,+()!@")


def _folder(segment: str, *, is_host: bool = False) -> str:
    name = _cut(_safe(unquote(segment)), segment)
    if is_host:
        return f"{name}~" if name.casefold() == START_NAME else name
    suffix = PurePosixPath(name).suffix.lower()
    # A file may also get one that is longer, or begins with a digit, by its content type.
    is_extension = _EXTENSION.fullmatch(suffix) or suffix in _TYPES.types_map[1]
    return f"{name}~" if is_extension else name


def _file(name: str, query: str) -> str:
    safe = _safe(unquote(name))
    return _cut(f"{safe}@{_safe(query)}" if query else safe, name + query)


def _safe(text: str) -> str:
    """Return the text as a name that means nothing to a shell, a browser or an operating system."""
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", text)).rstrip(". ") or "_"
    if name[0] in ".-~":
        name = f"_{name}"
    stem, dot, rest = name.partition(".")
    return f"{stem}_{dot}{rest}" if _RESERVED.fullmatch(stem) else name


def _cut(name: str, unique: str) -> str:
    encoded = name.encode()
    if len(encoded) <= MAX_SEGMENT_BYTES:
        return name
    return encoded[: MAX_SEGMENT_BYTES - 20].decode(errors="ignore") + f"~{_hash(unique)}"


def _hash(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode())


FindPath = Callable[[Url], str | None]
"""Returns the path of the page at a URL; None if it was not kept."""


class AbsoluteLinks:
    """Makes the links of one page absolute; `base` is what they are relative to."""

    def __init__(self, page: Url, base: Url, encoding: str, resolved: ResolvedLinks) -> None:
        self._page = page
        self._base = base
        self._folder = base[: base.partition("?")[0].rfind("/")]
        self._encoding = encoding
        self._resolved = resolved

    def __call__(self, href: str) -> str | None:
        """Return a link in full; None if it is to stay as it is.

        These are links to the page itself, and those of other schemes.
        """
        target, mark, fragment = href.partition("#")
        url = self._resolved.resolve(target, self._base, self._folder, self._encoding)
        if url is None:
            return None
        return mark + fragment if mark and url == self._page else url + mark + fragment


def local_link(href: str, path: str, find: FindPath) -> str | None:
    """Return an absolute link as one from the file at `path` to that of the page that it leads to.

    None if it is to stay as it is.
    """
    if not href.startswith(("http://", "https://")):
        return None
    target, mark, fragment = href.partition("#")
    other = find(Url(target))  # as `AbsoluteLinks` have written it
    return None if other is None else relative_link(path, other) + mark + fragment
