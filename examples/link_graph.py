"""The links between pages, one edge a line: `--module ./examples/link_graph.py:LinkGraph`."""

import csv

from gossamer import Page
from gossamer.modules import ModuleContext


class LinkGraph:
    """Writes id, source and target to links.csv; a URL begins with http and is no formula."""

    def open(self, context: ModuleContext) -> None:
        """Go on with the whole lines of those pages that do not come again."""
        path, is_settled = context.directory / "links.csv", context.is_settled
        lines = path.read_text().splitlines(True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        self.file = path.with_suffix(".new").open("w", encoding="ascii")
        self.file.writelines(line for line in whole if is_settled(int(line.partition(",")[0])))
        self.file.flush()
        path.with_suffix(".new").replace(path)

    def page(self, page: Page) -> None:
        """Write the links, and have them out of our hands before the page is settled."""
        rows = ((page.id, page.url, link) for link in page.links)
        csv.writer(self.file, lineterminator="\n").writerows(rows)
        self.file.flush()

    def close(self) -> None:
        """Close the file."""
        self.file.close()
