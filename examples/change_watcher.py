"""What is new, changed or gone since the last time: `python examples/change_watcher.py URL FILE`.

FILE keeps a digest of each page. It stays as it is if the site could not be read to the end.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path

import gossamer
from gossamer import FinishedUrl, Page


class Watcher:
    """Keeps digests of the main texts: what stands around them may change at each visit."""

    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self.failed = False

    def page(self, page: Page) -> None:
        """Take a page."""
        self.digests[page.url] = sha256(page.main_text.encode()).hexdigest()

    def finished(self, result: FinishedUrl) -> None:
        """Note whether a server had no answer now: it, and what is linked there, is not gone."""
        status = result.status or 500
        self.failed |= result.cause is not None and (status == 429 or status >= 500)


def main(url: str, file: str, delay: str = "1s") -> None:
    """Crawl, compare, and keep the digests for the next time."""
    kept, watcher = Path(file), Watcher()
    before: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
    summary = gossamer.crawl_sync(url, module=watcher, similarity="off", delay=delay)
    if summary.ended_by != "complete" or summary.exit_code:
        sys.exit(f"{url} was not read to the end: {summary}")
    now = before | watcher.digests if watcher.failed else watcher.digests
    for one in sorted(before.keys() | now.keys()):
        if before.get(one) != now.get(one):
            print("new" if one not in before else "changed" if one in now else "gone", one)
    kept.with_suffix(".new").write_text(json.dumps(now))
    kept.with_suffix(".new").replace(kept)


if __name__ == "__main__":
    if not 2 <= len(sys.argv[1:]) <= 3:
        sys.exit("usage: python examples/change_watcher.py URL FILE [DELAY]")
    main(*sys.argv[1:])
