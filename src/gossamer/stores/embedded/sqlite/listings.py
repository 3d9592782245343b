"""The table of what sitemaps say of URLs."""

from msgspec.structs import astuple

from gossamer.stores.embedded.sqlite.queries import read_number
from gossamer.stores.embedded.sqlite.results import SqliteResults
from gossamer.stores.listing import Listing


class SqliteListings(SqliteResults):
    """Listings in a table."""

    def add_listing(self, url_id: int, listing: Listing) -> None:
        """Store what is said of a new URL."""
        self._db.execute(
            "INSERT INTO listings (url, lastmod, priority, sitemap_of) VALUES (?, ?, ?, ?)",
            (url_id, *astuple(listing)),
        )

    def sitemap_of(self, url_id: int) -> str:
        """Return of which domain a URL is a sitemap; empty: it is a page."""
        query = "SELECT sitemap_of FROM listings WHERE url = ? AND sitemap_of IS NOT NULL"
        row = self._db.execute(query, (url_id,)).fetchone()
        return row[0] if row else ""

    def has_sitemaps(self) -> bool:
        """Return whether any URL is a sitemap."""
        query = "SELECT EXISTS (SELECT 1 FROM listings WHERE sitemap_of IS NOT NULL)"
        return bool(read_number(self._db, query))

    def count_sitemaps(self, domain: str | None) -> int:
        """Return how many sitemaps there are of a domain."""
        query = "SELECT count(*) FROM listings WHERE sitemap_of = ?"
        return read_number(self._db, query, domain)
