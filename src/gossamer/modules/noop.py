"""`noop`: a module that does nothing, for a crawl whose own records are enough."""

from gossamer.model import Page


class Noop:
    """Does nothing with the pages (the default)."""

    on_loop = True

    def page(self, page: Page) -> None:
        """Do nothing."""
