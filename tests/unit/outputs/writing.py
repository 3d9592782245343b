"""Writing an output to its end."""

from collections.abc import Callable

from gossamer.model import Page
from gossamer.outputs.contract import Output


def write_all(output: Output, put: Callable[..., None], *pages: Page) -> None:
    """Write an output of these pages, and finish it."""
    output.rewind(None)
    for page in pages:
        put(output, page)
    output.finish(())
