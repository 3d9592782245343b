"""Links in the files of a directory: absolute while it is written, relative between its pages."""

from collections.abc import Callable

from gossamer.content.links import ResolvedLinks
from gossamer.model import Url
from gossamer.outputs.page_paths import relative_link

FindPath = Callable[[Url], str | None]
"""Returns the path of the page at a URL; None if it was not kept."""


class AbsoluteLinks:
    """Makes the links of one page absolute; `base` is what they are relative to."""

    def __init__(self, page: Url, base: Url, encoding: str, resolved: ResolvedLinks) -> None:
        self._page = page
        self._base = base
        self._folder = base[: base.partition("?")[0].rfind("/")]
        self._encoding = encoding
        self._resolved = resolved

    def __call__(self, href: str) -> str | None:
        """Return a link in full; None if it is to stay as it is.

        These are links to the page itself, and those of other schemes.
        """
        target, mark, fragment = href.partition("#")
        url = self._resolved.resolve(target, self._base, self._folder, self._encoding)
        if url is None:
            return None
        return mark + fragment if mark and url == self._page else url + mark + fragment


def local_link(href: str, path: str, find: FindPath) -> str | None:
    """Return an absolute link as one from the file at `path` to that of the page that it leads to.

    None if it is to stay as it is.
    """
    if not href.startswith(("http://", "https://")):
        return None
    target, mark, fragment = href.partition("#")
    found = find(Url(target))  # as `AbsoluteLinks` have written it
    return None if found is None else relative_link(path, found) + mark + fragment
