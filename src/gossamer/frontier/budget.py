"""How much a crawl may fetch: never exceeded, however many workers there are."""


class Budget:
    """Pages and bytes. A lease reserves the most that it can use; settling returns the rest.

    What is finished plus what is reserved never exceeds the limits. So the last pages are fetched
    by ever fewer workers, and a crawl ends when a page of the largest size would no longer fit.
    """

    def __init__(self, max_pages: int, max_bytes: int, max_page_bytes: int) -> None:
        self.max_pages = max_pages
        self.max_bytes = max_bytes
        self._page_bytes = min(max_page_bytes, max_bytes)
        self.pages = 0
        """Pages that are finished."""
        self.bytes = 0
        """Bytes that were downloaded for them."""
        self._reserved = 0

    def __repr__(self) -> str:
        return (
            f"{self.pages} of {self.max_pages} pages, {self.bytes} of {self.max_bytes} bytes, "
            f"{self._reserved} reserved"
        )

    @property
    def reserved(self) -> int:
        """How many leases hold a reservation."""
        return self._reserved

    def reserve(self) -> bool:
        """Set aside one page of the largest size; False if that is more than there is."""
        if self.exhausted_by(self._reserved) is not None:
            return False
        self._reserved += 1
        return True

    def give_back(self) -> None:
        """Return a reservation unused."""
        self._reserved -= 1

    def use(self, *, page: bool, size: int) -> None:
        """Turn a reservation into what was really used."""
        self._reserved -= 1
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
