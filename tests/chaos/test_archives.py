"""Archives and directories under kills: exactly the pages that the crawl has, each once."""

import json
import os
import random
import signal
from pathlib import Path

import pytest
import turbohtml
from tests.chaos.test_outputs import FIND, PAGES, OutputCrawl, output_crawl
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

__all__ = ["output_crawl"]  # a fixture

NAMES = ("site.warc.gz", "site.html", "site.md")


def archived(folder: Path) -> list[str]:
    """Return the URLs of the answers in an archive, after a check of all digests."""
    urls = []
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type == "response":
                    urls.append(record.rec_headers.get_header("WARC-Target-URI"))
    index = (folder / "site.cdxj").read_text().splitlines()
    assert sorted(json.loads(line.split(" ", 2)[2])["url"] for line in index) == sorted(urls)
    return sorted(urls)


def mirrored(folder: Path, urls: list[str]) -> int:
    """Return how many pages a mirror has; each of their links to one of `urls` leads to a file."""
    pages = [path for path in folder.glob("*/**/*.html") if path.is_file()]
    for path in pages:
        for link in turbohtml.parse(path.read_text()).links():
            is_there = (path.parent / link.url).is_file()
            assert is_there or (link.url.startswith("http:") and link.url not in urls), path
    return len(pages)


@pytest.mark.req("B9")
@pytest.mark.parametrize("output_crawl", ["sqlite"], indirect=True)
def test_killed_at_random_moments_archives_are_exact(
    output_crawl: OutputCrawl,
    chaos_seed: int,
) -> None:
    """The writer or the whole command is killed, again and again."""
    rng = random.Random(chaos_seed)  # noqa: S311 -- repeatable, no secret
    folder = output_crawl.folder
    output_crawl._command += ["--warc-size", "20kB"]
    output_crawl.web.site("127.0.0.1").redirect(f"/{PAGES}", "/0")  # the last page links to it
    run = output_crawl.start(*NAMES)
    for victim in ("writer", "writer", "command"):
        least = len(output_crawl.web.requests) + rng.randrange(10, 30)
        find = FIND[victim]
        run.wait_for(lambda: len(output_crawl.web.requests) >= least and bool(find(run.pid)))  # noqa: B023
        run.wait_for((folder / "site.warc.gz.part").exists)
        replaced = run.output.count("is replaced")
        for one in [] if run.has_ended else find(run.pid)[:1]:
            os.kill(one, signal.SIGKILL)
        if victim != "command":
            run.wait_for(lambda: run.output.count("is replaced") > replaced)  # noqa: B023
    run.end()
    output_crawl.start(*NAMES).succeed()
    urls = sorted(url for _, url, _ in output_crawl.pages())
    assert archived(folder) == urls
    known = [*urls, f"{output_crawl.web.base_url}/{PAGES}"]
    assert mirrored(folder / "site.html", known) == len(urls)
    assert len([*(folder / "site.md").rglob("*.md")]) == len(urls)
    assert len(list(folder.glob("site*.warc.gz"))) > 1
    assert not list(folder.glob("*.part"))
