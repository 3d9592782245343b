"""Fingerprints of URLs: equal for spellings that lead to the same page in practice.

This goes further than the standards allow (RFC 3986 does not permit sorting a query), so a page is
always fetched by the URL that was found; the fingerprint only decides whether it was seen before.
"""

import re

from gossamer.model import Fingerprint, Url
from gossamer.urls.ignored_parameters import (
    DOUBTFUL_PARAMETERS,
    IGNORED_PARAMETERS,
    IGNORED_PREFIXES,
    SESSION_TOKEN,
)
from gossamer.urls.keys import without_root_dot
from gossamer.urls.normalise import merge_slashes

# Java: "/shop;jsessionid=1A2B/cart". After "/." or "/.." the removal would leave a dot segment.
_JAVA_SESSION = re.compile(r"(?<!/\.)(?<!/\.\.);jsessionid=[^/;]*", re.IGNORECASE)
# ASP.NET without cookies: "/(S(lit3py55t21z5v55vlm25s55))/page.aspx", also "/(A(…)F(…)S(…))/".
_ASP_NET_SESSION = re.compile(r"/\((?:[AFSX]\([0-9A-Za-z_-]+\))+\)(?=/)")


def fingerprint(url: Url) -> Fingerprint:
    """Return a text that is equal for URLs that count as the same page.

    Session ids, tracking parameters, empty and repeated parameters, doubled slashes and the dot
    after the host are left out; parameters are sorted by name, those of one name keep their order.
    The result is itself a URL in normal form, and its own fingerprint.
    """
    if (
        "?" not in url
        and ";" not in url
        and "(" not in url
        and "./" not in url
        and ".:" not in url
        and url.find("//", 8) < 0
    ):
        return Fingerprint(url)
    start = url.find("/", 8)
    path, _, query = url[start:].partition("?")
    path = _ASP_NET_SESSION.sub("", _JAVA_SESSION.sub("", path))
    page = merge_slashes(Url(without_root_dot(url[:start]) + path))
    query = _comparable_query(query)
    return Fingerprint(f"{page}?{query}" if query else page)


def _comparable_query(query: str) -> str:
    kept = [parameter for parameter in query.split("&") if parameter and _names_page(parameter)]
    return "&".join(sorted(dict.fromkeys(kept), key=_name))


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]


def _names_page(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in IGNORED_PARAMETERS or name.startswith(IGNORED_PREFIXES):
        return False
    return name not in DOUBTFUL_PARAMETERS or SESSION_TOKEN.fullmatch(value) is None
