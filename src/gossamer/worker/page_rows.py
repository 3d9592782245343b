"""What outputs want of pages that were just fetched: rows for tables, readings for the others."""

from gossamer.content import Analysis
from gossamer.model import Page
from gossamer.modules.hooks import Delivered
from gossamer.modules.kept_pages import Reading
from gossamer.outputs.carried import Carried, pack_carried
from gossamer.outputs.rows import row_of


class PageRows:
    """Makes what outputs want of pages while these are at hand, as long as one wants it.

    What is not made here is made by whoever writes the output, from the page as it is kept.
    """

    def __init__(
        self,
        fields: tuple[str, ...] = (),
        *,
        always: bool = False,
        with_readings: bool = False,
    ) -> None:
        """Prepare; without `always` tables hold records as soon as there are any."""
        self._fields = fields
        self._always = always
        self._with_readings = with_readings

    @property
    def are_wanted(self) -> bool:
        """Whether an output may want them."""
        return bool(self._fields) or self._with_readings

    @property
    def have_links(self) -> bool:
        """Whether they are made of the page's links, too."""
        return self._with_readings or "links" in self._fields

    def give_way_to(self, delivered: Delivered) -> bool:
        """Tell whether nothing is wanted any more, because tables hold records."""
        if delivered.given is not None and not self._always:
            self._fields = ()
        return not self.are_wanted

    def pack(self, page: Page, parsed: Analysis) -> bytes:
        """Return what the result of a page carries; the text is that of the tree read for links."""
        row = row_of(page, self._fields, parsed.text) if self._fields else b""
        reading = Reading(page.links, page.language) if self._with_readings else None
        return pack_carried(Carried(self._fields, row, reading))
