"""A site as text for a language model: `python examples/site_to_markdown.py URL NAME [WORDS]`.

NAME.md/ gets a file of Markdown for each page, and NAME.txt all of them that fit into WORDS
words (100,000 by default), the nearest to the start first.
"""

import re
import sys
from pathlib import Path

import gossamer


def main(url: str, name: str, words: str = "100000", delay: str = "1s") -> None:
    """Crawl, and join the files."""
    gossamer.crawl_sync(url, output=f"{name}.md/", dir=f"{name}.md-crawl", delay=delay)
    texts = [file.read_text(encoding="utf-8") for file in sorted(Path(f"{name}.md").rglob("*.md"))]
    left = int(words)
    with Path(f"{name}.txt").open("w", encoding="utf-8") as joined:
        for text in sorted(texts, key=depth):
            if (length := len(text.split())) <= left:
                left -= length
                joined.write(text + "\n")


def depth(text: str) -> int:
    """Return how many links a page is away from the start, as its front matter says."""
    found = re.search(r"^depth: (\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    if not 2 <= len(sys.argv[1:]) <= 4:
        sys.exit("usage: python examples/site_to_markdown.py URL NAME [WORDS [DELAY]]")
    main(*sys.argv[1:])
