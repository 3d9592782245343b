"""`noop`: a module that does nothing, for a crawl whose own records are enough."""

from gossamer.modules.contract import ModuleContext


class Noop:
    """Does nothing with the pages (the default)."""

    on_loop = True
    known_options = ()

    def open(self, context: ModuleContext) -> None:
        """Do nothing: there is no method `page`, so no page has to wait for it."""
