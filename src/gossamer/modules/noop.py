"""`noop`: nothing, for a crawl whose own records are all that is wanted."""

from gossamer.model import Page


class Noop:
    """Does nothing with the pages (the default)."""

    on_loop = True

    def page(self, page: Page) -> None:
        """Do nothing."""
