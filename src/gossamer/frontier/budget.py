"""The budget of a crawl in pages and bytes, never exceeded however many workers there are."""


class Budget:
    """The budget of a crawl: a lease reserves the most it can use, settling returns the rest.

    Used plus reserved never exceeds the limits. So the last pages are fetched by fewer and fewer
    workers, and a crawl ends when a page of the largest size would no longer fit.
    """

    def __init__(self, max_pages: int, max_bytes: int, max_page_bytes: int) -> None:
        self.max_pages = max_pages
        self.max_bytes = max_bytes
        self._page_bytes = min(max_page_bytes, max_bytes)
        self.pages = 0
        """Pages that are kept."""
        self.bytes = 0
        """Bytes that were downloaded for them."""
        self.reserved = 0
        """How many leases hold a reservation."""

    def __repr__(self) -> str:
        return (
            f"{self.pages} of {self.max_pages} pages, {self.bytes} of {self.max_bytes} bytes, "
            f"{self.reserved} reserved"
        )

    def reserve(self) -> bool:
        """Reserve one page of the largest size; False if the budget does not allow it."""
        if self.exhausted_by(self.reserved) is not None:
            return False
        self.reserved += 1
        return True

    def give_back(self) -> None:
        """Return a reservation unused."""
        self.reserved -= 1

    def use(self, *, page: bool, size: int) -> None:
        """Replace a reservation by what was used."""
        self.reserved -= 1
        self.pages += page
        self.bytes += size

    def exhausted_by(self, reserved: int = 0) -> str | None:
        """Return which limit leaves no room for another page; None when there is room."""
        if self.pages + reserved >= self.max_pages:
            return "max-pages"
        used = self.bytes + reserved * self._page_bytes
        if used >= self.max_bytes or used + self._page_bytes > self.max_bytes:
            return "max-bytes"
        return None
