"""The normal form of URLs: every URL enters Gossamer through this module.

The ada library parses by the WHATWG URL standard, as browsers do with the links that people write
(spaces, backslashes, `0x7f.1`, Unicode host names), so we fetch what the author of a page sees. RFC
3986 section 6.2.2 adds what the standard leaves alone: equal spellings of an escape. What could
change the meaning stays: the case of paths, the order of queries, doubled slashes.
"""

import re
from urllib.parse import quote_from_bytes

import ada_url

from gossamer.model import Url

MAX_URL_LENGTH = 8192
"""The longest normal form that is kept; RFC 9110 section 4.1 asks for at least 8000."""

MAX_TEXT_LENGTH = 4 * MAX_URL_LENGTH
"""The longest text that is parsed: white space, escapes and the fragment may be removed."""

# RFC 3986 section 2.3: these mean the same escaped or not, and should not be escaped.
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_UNRESERVED_BY_CODE = {f"{ord(character):02X}": character for character in _UNRESERVED}
_HEX_DIGITS = frozenset("0123456789ABCDEFabcdef")

# An escape that is not in normal form, and a stray "%" or "%4" right before it.
_ABNORMAL_ESCAPE = re.compile(
    r"""(%[0-9A-Fa-f]?)?
        %( [0-9A-Fa-f][a-f] | [a-f][0-9A-F]                                 # in lower case
         | 2[DE] | 3[0-9] | 4[1-9A-F] | 5[0-9AF] | 6[1-9A-F] | 7[0-9AE] )   # unreserved
    """,
    re.VERBOSE,
)
# A path without an escape, a doubled slash or a segment that begins with a dot (but for `../` at
# its start), a query without an escape, and an absolute URL of these with a plain host name: there
# is nothing to normalise.
_PATH = r"(?:[\w~-][\w.~-]*/)*+(?:[\w~-][\w.~-]*)?(?:\?[\w.~=&/+;:-]*)?"
_PLAIN_PATH = re.compile(rf"(?:(?:\.\./)++|(?!\?)/?){_PATH}", re.ASCII)
_PLAIN_URL = re.compile(rf"https?://(?:(?!xn--)[a-z0-9-]+\.)+(?!xn--)[a-z]+/{_PATH}", re.ASCII)
_SLASHES = re.compile(r"//+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_CODECS = {
    "euc-kr": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
}
"""Python's codecs for encodings that the Encoding Standard names otherwise, or has more of."""


def normalise(text: str) -> Url | None:
    """Return the normal form of an absolute URL, None if it is not a usable http(s) URL."""
    if len(text) > MAX_TEXT_LENGTH:
        return None
    try:
        href = ada_url.normalize_url(text)
    except ValueError:
        return None
    return _normal_form(href)


def resolve(href: str, base: str, encoding: str | None = None) -> Url | None:
    """Return the normal form of a link found on the page `base`, None if it is unusable.

    `encoding` is the page's character encoding, for the links whose query is not ASCII.
    """
    if len(href) > MAX_TEXT_LENGTH or len(base) > MAX_TEXT_LENGTH:
        return None
    if encoding is not None and not href.isascii():
        href = encode_query(href, encoding)
    try:
        joined = ada_url.join_url(base, href)
    except ValueError:
        return None
    return _normal_form(joined)


def resolve_plain(href: str, base: Url) -> Url | None:
    """Return what `resolve` does in a tenth of the time, None for a link that it is needed for."""
    if href.startswith("http"):
        plain = href if _PLAIN_URL.fullmatch(href) else ""
    elif not href or not _PLAIN_PATH.fullmatch(href):
        plain = ""
    elif href[0] == "/":
        plain = base[: base.find("/", 8)] + href
    else:
        plain = _beside(href, base)
    return Url(plain) if 0 < len(plain) <= MAX_URL_LENGTH else None


def _beside(href: str, base: Url) -> str:
    """Return where a relative path leads, which may begin with `../` and has no other dots."""
    query = base.find("?")
    end = base.rfind("/", 0, len(base) if query < 0 else query)
    if not href.startswith("../"):
        return base[: end + 1] + href
    root = base.find("/", 8)
    start = 0
    while href.startswith("../", start):
        end = max(base.rfind("/", root, end), root)
        start += 3
    return base[: end + 1] + href[start:]


def encode_query(href: str, encoding: str) -> str:
    """Return the link with its query escaped in the page's encoding, its path as it is.

    So do browsers (WHATWG URL, "percent-encode after encoding"): a server that expects windows-1251
    finds nothing under the UTF-8 spelling. Characters that the encoding lacks become `&#…;`,
    escaped. With an encoding that is unknown, or that the standard replaces by UTF-8 for output,
    the link stays as it is.
    """
    if encoding.lower().replace("_", "-").startswith("utf"):
        return href
    before, hash_mark, fragment = href.partition("#")
    path, question_mark, query = before.partition("?")

    codec = _CODECS.get(encoding.lower(), encoding)

    def escape(match: re.Match[str]) -> str:
        return quote_from_bytes(match[0].encode(codec, "xmlcharrefreplace"), safe="")

    try:
        query = _NOT_ASCII.sub(escape, query)
    except (LookupError, ValueError):
        return href
    return path + question_mark + query + hash_mark + fragment


def merge_slashes(url: Url) -> Url:
    """Return the URL with every run of slashes in its path merged into one.

    Servers may distinguish `/a//b` from `/a/b`, so this is not part of the normal form.
    """
    if url.find("//", 8) < 0:
        return url
    start = url.find("/", 8)
    path, mark, query = url[start:].partition("?")
    return Url(url[:start] + _SLASHES.sub("/", path) + mark + query)


def _normal_form(href: str) -> Url | None:
    """Finish the normal form of a serialised URL; most links need none of the steps."""
    if not href.startswith(("http://", "https://")):
        return None
    fragment = href.find("#")
    if fragment >= 0:
        href = href[:fragment]
    if "@" in href:
        href = _without_credentials(href)
    if (".." in href or "://." in href) and _has_empty_label(href):
        return None
    if "%" in href:
        href = _ABNORMAL_ESCAPE.sub(_normal_escape, href)
    return Url(href) if len(href) <= MAX_URL_LENGTH else None


def _without_credentials(href: str) -> str:
    # The standard escapes every other "@" before the host, and a path always begins with "/".
    end = href.find("/", 8)
    at = href.rfind("@", 0, end)
    return href if at < 0 else href[: href.find("//") + 2] + href[at + 1 :]


def _has_empty_label(href: str) -> bool:
    """Return whether the host is `.`, `a..b` or the like, which the standard allows.

    No such name can be resolved (RFC 1035 section 3.1), and the key of `.` would be empty.
    """
    host = href[href.find("//") + 2 : href.find("/", 8)]
    return host.startswith(".") or ".." in host


def _normal_escape(match: re.Match[str]) -> str:
    stray, code = match.groups(default="")
    code = code.upper()
    character = _UNRESERVED_BY_CODE.get(code)
    # "%4%31" must not become the escape "%41", which would be read as "A" the next time.
    if character is None or (stray and character in _HEX_DIGITS):
        return f"{stray}%{code}"
    return stray + character
