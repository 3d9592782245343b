"""The catalogue of hostile servers: the fault of a host, and how its URLs must end.

The comments are the entries of the catalogue. A fault plays at /fault, which the home page of its
host links to; where a page is found behind it, that is /fault/end. None means: never asked for.
"""

from collections.abc import Mapping

from gossamer.model import Outcome

Ends = Mapping[str, Outcome | None]

FETCHED = {"/fault": Outcome.FETCHED}
BAD_HTTP = {"/fault": Outcome.BAD_HTTP}
TOO_LARGE = {"/fault": Outcome.TOO_LARGE}
TIMED_OUT = {"/fault": Outcome.TIMED_OUT}
LOST = {"/fault": Outcome.CONNECTION_FAILED}
BAD_REDIRECT = {"/fault": Outcome.BAD_REDIRECT}
DENIED = {"/": Outcome.FETCHED, "/fault": Outcome.ROBOTS_DENIED}
ALLOWED = {"/": Outcome.FETCHED, "/fault": Outcome.NOT_FOUND}
READ = {"/fault": Outcome.FETCHED, "/fault/end": Outcome.FETCHED}
NOT_READ = {"/fault": Outcome.FETCHED, "/fault/end": None}
LED_ON = {"/fault": Outcome.REDIRECTED}
TLS_FAILED = {"/": Outcome.TLS_FAILED}
NO_SITEMAP = {"/": Outcome.FETCHED, "/sitemap.xml": Outcome.NOT_SITEMAP}

CATALOGUE: Mapping[str, Ends] = {
    # 1 to 5: traps. They end by their depth here.
    "calendar": FETCHED,
    "session-ids": FETCHED,
    "session-unknown": FETCHED,
    "path-deep": FETCHED,
    "path-relative": FETCHED,
    "facets": FETCHED,
    "maze": FETCHED,
    "query-growing": FETCHED,
    # 6: a header or a body that drips.
    "slow-header": TIMED_OUT,
    "slow-body": TIMED_OUT,
    "silent": TIMED_OUT,
    "silent-body": TIMED_OUT,
    "silent-host": {"/": Outcome.TIMED_OUT, "/fault": None},
    # 7: a body without end.
    "endless-body": TOO_LARGE,
    "endless-chunks": TOO_LARGE,
    # 8 to 10: lengths.
    "length-too-big": LOST,
    "length-too-small": FETCHED,
    "length-negative": BAD_HTTP,
    "length-word": BAD_HTTP,
    "lengths-differ": BAD_HTTP,
    "lengths-same": FETCHED,
    "length-and-chunked": FETCHED,
    # 11: chunks.
    "chunk-size-bad": BAD_HTTP,
    "chunk-size-overflow": BAD_HTTP,
    "chunks-tiny": FETCHED,
    "chunks-cut": LOST,
    # 12 to 15: what is hardly HTTP, or too much of it.
    "http-09": BAD_HTTP,
    "status-bad": BAD_HTTP,
    "header-folded": FETCHED,
    "header-nul": BAD_HTTP,
    "header-bare-cr": BAD_HTTP,
    "header-giant": BAD_HTTP,
    "headers-many": BAD_HTTP,
    "headers-endless": BAD_HTTP,
    "interim-endless": BAD_HTTP,
    "switching-protocols": BAD_HTTP,
    # 16: types.
    "html-as-text": NOT_READ,
    "png-as-html": {"/fault": Outcome.UNWANTED_TYPE},
    "zip-as-html": {"/fault": Outcome.UNWANTED_TYPE},
    "type-missing": READ,
    "type-evil": FETCHED,
    # 17: charsets.
    "charset-lies": FETCHED,
    "charset-unknown": FETCHED,
    "charset-utf7": FETCHED,
    "charset-utf16": READ,
    "bytes-random": FETCHED,
    # 18 and 19: markup.
    "nested-tags": READ,
    "tags-reopened": READ,
    "attributes-many": READ,
    "attribute-open": NOT_READ,
    "bases-many": READ,
    "base-long": FETCHED,
    "links-many": TOO_LARGE,
    # 20 to 24: redirects.
    "redirect-loop": {"/fault": Outcome.REDIRECTED, "/fault/b": Outcome.REDIRECTED},
    "redirect-chain": {"/fault/9": Outcome.REDIRECTED, "/fault/10": Outcome.BAD_REDIRECT},
    "redirect-self-cookie": FETCHED,
    "redirect-nowhere": BAD_REDIRECT,
    "redirect-relative": {**LED_ON, "/fault/end": Outcome.FETCHED},
    "redirect-spaces": {**LED_ON, "/fault/the%20end": Outcome.FETCHED},
    "redirect-utf8": {**LED_ON, "/fault/ende-f%C3%BCr-heute": Outcome.FETCHED},
    "redirect-bytes": LED_ON,
    "redirect-fragment": {**LED_ON, "/fault/end": Outcome.FETCHED},
    "redirect-network-path": {**LED_ON, "/fault/end": Outcome.FETCHED},
    "redirect-crlf": {**LED_ON, "/fault/a%0D%0AX:%201": Outcome.FETCHED},
    "redirect-no-host": LED_ON,
    "redirect-loopback": LED_ON,
    "redirect-javascript": BAD_REDIRECT,
    "redirect-file": BAD_REDIRECT,
    "redirect-ftp": BAD_REDIRECT,
    "redirect-data": BAD_REDIRECT,
    "refresh-loop": {"/fault": Outcome.REDIRECTED, "/fault/b": Outcome.REDIRECTED},
    "refresh-self": FETCHED,
    "refresh-header": FETCHED,
    # 25 to 31: links.
    "schemes-odd": READ,
    "credentials": READ,
    "urls-long": READ,
    "urls-odd": READ,
    "urls-bytes": READ,
    "urls-idn": READ,
    "urls-loopback": READ,
    "titles-evil": READ,
    # 32 and 33: robots.txt that is too large or none.
    "robots-huge": DENIED,
    "robots-html": ALLOWED,
    "robots-binary": ALLOWED,
    "robots-bom": DENIED,
    "robots-utf16": DENIED,
    "robots-bomb": ALLOWED,
    # 34 to 40: robots.txt that is not to be had, or asks for the impossible.
    "robots-401": ALLOWED,
    "robots-403": ALLOWED,
    "robots-410": ALLOWED,
    "robots-429": {"/": Outcome.ROBOTS_UNREACHABLE},
    "robots-500": {"/": Outcome.ROBOTS_UNREACHABLE},
    "robots-silent": {"/": Outcome.TIMED_OUT},
    "robots-slow": {"/": Outcome.TIMED_OUT},
    "robots-redirected": DENIED,
    "robots-elsewhere": DENIED,
    "robots-loop": ALLOWED,
    "delay-odd": ALLOWED,
    # 41: come back later.
    "error-500": {"/fault": Outcome.SERVER_ERROR},
    "error-503": {"/fault": Outcome.SERVER_ERROR},
    "retry-after-past": {"/fault": Outcome.SERVER_ERROR},
    "retry-after-garbage": {"/fault": Outcome.RATE_LIMITED},
    # 42 and 43: pages that are none, and one under many names.
    "soft-404": FETCHED,
    "same-page": FETCHED,
    # 44, one server with many names, is in tests/web/test_address_slots.py. 45: connections.
    "closes-kept": {"/": Outcome.FETCHED},
    "answer-unasked": FETCHED,
    "idle-408": FETCHED,
    "reset": LOST,
    "reset-in-body": LOST,
    "empty-answer": LOST,
    # 46: content codings.
    "gzip-false": BAD_HTTP,
    "gzip-cut": BAD_HTTP,
    "gzip-trailing": FETCHED,
    "gzip-twice": FETCHED,
    "coding-unknown": BAD_HTTP,
    "codings-many": BAD_HTTP,
    "gzip-bomb": TOO_LARGE,
    "brotli-bomb": TOO_LARGE,
    # 47: TLS.
    "tls-expired": TLS_FAILED,
    "tls-other-host": TLS_FAILED,
    "tls-self-signed": TLS_FAILED,
    "tls-unknown-authority": TLS_FAILED,
    "tls-long-chain": TLS_FAILED,
    "tls-old": TLS_FAILED,
    "tls-name-unknown": TLS_FAILED,
    "tls-plain": TLS_FAILED,
    "tls-closes": TLS_FAILED,
    "tls-silent": {"/": Outcome.TIMED_OUT},
    "tls-slow": {"/": Outcome.TIMED_OUT},
    # 48, name servers, is in tests/web/test_names.py. 49: HTTP/2.
    "h2-silent": {"/": Outcome.TIMED_OUT},
    "h2-goaway": {"/": Outcome.CONNECTION_FAILED},
    "h2-refused": {"/": Outcome.CONNECTION_FAILED},
    "h2-resets": {"/": Outcome.CONNECTION_FAILED},
    "h2-continuations": {"/": Outcome.BAD_HTTP},
    "h2-header-bomb": {"/": Outcome.BAD_HTTP},
    "h2-settings": {"/": Outcome.BAD_HTTP},
    "h2-pings": {"/": Outcome.CONNECTION_FAILED},
    "h2-empty-data": {"/": Outcome.BAD_HTTP},
    "h2-padding": {"/": Outcome.TOO_LARGE},
    # 50: sitemaps.
    "sitemap-html": NO_SITEMAP,
    "sitemap-index-loop": {"/": Outcome.FETCHED, "/sitemap.xml": Outcome.SITEMAP},
    "sitemap-entities": NO_SITEMAP,
    "sitemap-file": NO_SITEMAP,
    "sitemap-bomb": NO_SITEMAP,
    "sitemap-cut": NO_SITEMAP,
    # 51: what the page asks for.
    "nofollow": NOT_READ,
    "x-robots-tag": NOT_READ,
    "cookie-wide": READ,
    # 52: answers without a page.
    "empty-page": FETCHED,
    "no-content-body": BAD_HTTP,
    "not-modified": BAD_HTTP,
    "status-999": BAD_HTTP,
}

OR_ELSE: Mapping[str, Ends] = {"h2-pings": {"/": Outcome.TOO_LARGE}}
"""How a URL may end as well. As soon as nobody reads the replies to pings, the connection is given
up; a machine may keep so many of them that the crawler has received too much before that."""

NOT_HERE = frozenset({"chunk-extensions", "delay-huge", "retry-after-years"})
"""The server of the first is too busy with all the others to send so much that it is cut off:
`tests/web/test_wire.py` has it. The others only make a crawl wait, as long as they may ask for."""
