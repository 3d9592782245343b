"""The number of words of each page: `--module ./examples/word_count.py:word_count`."""

from gossamer import Page


def word_count(page: Page) -> None:
    """Print the id, the number of words and the URL of a page."""
    print(page.id, len(page.text.split()), page.url, sep="\t", flush=True)
