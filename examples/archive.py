"""A site with its images and style sheets as a WARC archive: `python examples/archive.py URL NAME`.

Writes NAME.warc.gz and its index NAME.cdxj. pywb replays them with this config.yaml beside them:

collections: {site: {index_paths: ./NAME.cdxj, archive_paths: ./}}
"""

import sys

import gossamer


def main(url: str, name: str, delay: str = "1s") -> None:
    """Crawl, and say how much was archived."""
    summary = gossamer.crawl_sync(
        url,
        accept="any",
        similarity="off",  # what is much like another page is kept, too
        output=f"{name}.warc.gz",
        dir=f"{name}.warc-crawl",
        delay=delay,
    )
    for output in summary.outputs:
        print(f"{output.target}: {output.items:,} pages and files, {output.bytes:,} bytes")


if __name__ == "__main__":
    if not 2 <= len(sys.argv[1:]) <= 3:
        sys.exit("usage: python examples/archive.py URL NAME [DELAY]")
    main(*sys.argv[1:])
