"""The books of a shop as a table.

gossamer crawl https://books.toscrape.com/ --module ./examples/books.py:Books -o books.csv
"""

from collections.abc import Iterator, Sequence

from gossamer import FollowedLink, Page


class Books:
    """Reads the page of each book, and follows the catalogue only."""

    def page(self, page: Page) -> Iterator[dict[str, object]]:
        """Yield a record if the page shows one book."""
        title = page.select_one(".product_main h1")
        price = page.select_one(".product_main .price_color")
        if title is not None and price is not None:
            facts = dict(row for table in page.tables for row in table.rows if len(row) == 2)
            yield {
                "title": title.text,
                "price": float(price.text.strip("£")),
                "upc": facts.get("UPC"),
                "url": page.url,
            }

    def links(self, _page: Page, links: Sequence[FollowedLink]) -> list[FollowedLink]:
        """Follow the lists and the books, not the basket and not the same lists by category."""
        return [one for one in links if "/catalogue/" in one.url and "/category/" not in one.url]
