"""A directory served as a web site, to crawl real documentation without a network."""

import mimetypes
from pathlib import Path
from urllib.parse import unquote

from gossamer.testing.replies import NOT_FOUND, Prepared, Reply, prepare


class Folder:
    """The answers for targets under a prefix: the files of a directory, and never others.

    A file is read at the first request, and cached.
    """

    def __init__(self, prefix: str, root: Path) -> None:
        self._prefix = prefix
        self._root = root.resolve()
        # A table of our own: the same types on every machine, whatever /etc/mime.types says.
        self._types = mimetypes.MimeTypes()
        self._kept: dict[str, Prepared] = {}

    def answer(self, target: str) -> Prepared:
        """Return the file, a redirect to a directory's slash, or 404."""
        path = target.partition("?")[0]
        try:
            return self._kept.get(path) or self._find(path)
        except (OSError, RuntimeError, ValueError):
            # Missing or not readable, a loop of symbolic links, outside, a NUL in the name.
            return NOT_FOUND

    def _find(self, path: str) -> Prepared:
        file = (self._root / unquote(path.removeprefix(self._prefix))).resolve()
        if path.endswith("/"):
            file = (file / "index.html").resolve()
        file.relative_to(self._root)  # ValueError if it is outside
        if file.is_dir() and not path.endswith("/"):
            return prepare(Reply(status=301, headers={"Location": f"{path}/"}))
        kind, coding = self._types.guess_type(file.name)
        if kind is None or coding is not None:
            kind = "application/octet-stream"
        found = prepare(Reply(headers={"Content-Type": kind}, body=file.read_bytes()))
        self._kept[path] = found
        return found
