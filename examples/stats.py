"""How many pages and bytes a site has, by depth, content type and host, in stats.json.

gossamer crawl https://example.org/ --module ./examples/stats.py:Stats
"""

import json
from collections import Counter, defaultdict
from urllib.parse import urlsplit

from gossamer import ModuleContext, Page


class Stats:
    """Sees all pages in one place, and writes the numbers when the crawl ends or is interrupted.

    A crawl that is continued goes on with them. What was counted before a crash is not in them.
    """

    in_coordinator = True
    known_options = ()

    def open(self, context: ModuleContext) -> None:
        """Go on with the numbers of a crawl that is continued."""
        self._file = context.claim_file("stats.json")
        self._numbers: defaultdict[str, Counter[str]] = defaultdict(Counter)
        if context.resumed_from and self._file.exists():
            for name, counts in json.loads(self._file.read_bytes()).items():
                self._numbers[name].update(counts)

    def page(self, page: Page) -> None:
        """Count the page, at its first visit."""
        if not page.is_revisit:
            content_type = page.content_type.partition(";")[0].strip().lower()
            self._numbers["all"].update(pages=1, bytes=len(page.body))
            self._numbers["by_depth"][str(page.depth)] += 1
            self._numbers["by_content_type"][content_type] += 1
            self._numbers["by_host"][urlsplit(page.url).netloc] += 1

    def close(self) -> None:
        """Write the numbers."""
        self._file.write_text(json.dumps(self._numbers, indent=2), encoding="utf-8")
