"""What sitemaps say of URLs, and which URLs are sitemaps."""

import msgspec

ANY_DOMAIN = "*"
"""In place of a domain: a sitemap that was named may list URLs of any."""
MAX_SITEMAPS = 1000
"""How many sitemaps are read for one registered domain."""


class Listing(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a sitemap says of a URL; or that a URL is a sitemap."""

    lastmod: float | None = None
    """When it was changed last, in seconds since the epoch."""
    priority: float | None = None
    """0 to 1."""
    sitemap_of: str | None = None
    """It is a sitemap, and lists URLs of this registered domain, or of `ANY_DOMAIN`; None: it is a
    page."""
