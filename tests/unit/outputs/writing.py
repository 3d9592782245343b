"""Writing an output to its end."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from gossamer.model import Page, Url
from gossamer.outputs.contract import Output


def write_all(
    output: Output,
    put: Callable[..., None],
    *pages: Page,
    aliases: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Write an output of these pages, and finish it."""
    output.rewind(None)
    for page in pages:
        put(output, page)
    for url, page_id in aliases.items():
        assert output.add_alias is not None
        output.add_alias(Url(url), page_id)
    output.finish(())
