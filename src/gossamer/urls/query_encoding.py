"""The escaping of queries in the character encoding of the page.

Browsers send the query of such a link in the encoding of its page (WHATWG URL, "percent-encode
after encoding"), the path always in UTF-8. A server that expects windows-1251 finds nothing under
the UTF-8 spelling.
"""

import re
from urllib.parse import quote_from_bytes

_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


def encode_query(href: str, encoding: str) -> str:
    """Return the link with its query escaped in the page's encoding.

    Characters that the encoding lacks become `&#…;`, escaped, as in browsers. With an encoding that
    is unknown, or that the standard replaces by UTF-8 for output, the link stays as it is.
    """
    if encoding.lower().replace("_", "-").startswith("utf"):
        return href
    before, hash_mark, fragment = href.partition("#")
    path, question_mark, query = before.partition("?")

    def escape(match: re.Match[str]) -> str:
        return quote_from_bytes(match[0].encode(encoding, "xmlcharrefreplace"), safe="")

    try:
        query = _NOT_ASCII.sub(escape, query)
    except (LookupError, ValueError):
        return href
    return path + question_mark + query + hash_mark + fragment
