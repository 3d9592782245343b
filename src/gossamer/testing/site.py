"""One host of the simulated web: its paths and their answers."""

import mimetypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from http.client import NO_CONTENT, NOT_MODIFIED, responses
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import msgspec

from gossamer.model.errors import UsageError

HeaderFields: TypeAlias = Mapping[str, str] | Sequence[tuple[str, str]]

HTML_TYPE = "text/html; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A well-formed answer; Content-Length and Content-Type are filled in unless given."""

    status: int = 200
    headers: HeaderFields = ()
    body: bytes | str = b""
    delay_s: float = 0.0
    """How long the server waits before the first byte."""


class Pause(msgspec.Struct, frozen=True):
    """Send nothing for a while."""

    seconds: float


class Repeat(msgspec.Struct, frozen=True):
    """Send a chunk again and again, for ever by default, no faster than the client reads."""

    chunk: bytes
    every_s: float = 0.0
    times: int | None = None


class Close(msgspec.Struct, frozen=True):
    """Close the connection properly (FIN)."""


class Reset(msgspec.Struct, frozen=True):
    """Reset the connection (RST)."""


class KeepOpen(msgspec.Struct, frozen=True):
    """Keep the connection open and silent until the client closes it."""


RawStep: TypeAlias = bytes | Pause | Repeat | Close | Reset | KeepOpen


class Raw(msgspec.Struct, frozen=True):
    """Exact bytes and timing; the connection closes after the last step unless it is KeepOpen."""

    steps: Sequence[RawStep]


class Prepared(msgspec.Struct, frozen=True):
    """A reply as bytes, ready to be written."""

    whole: bytes
    head: bytes
    """The part that also answers HEAD."""
    delay_s: float
    closes: bool
    """Whether the reply has `Connection: close`."""


def prepare(reply: Reply) -> Prepared:
    """Return the bytes of a reply, with missing header fields filled in."""
    body = reply.body.encode() if isinstance(reply.body, str) else reply.body
    headers = reply.headers
    fields = list(headers.items() if isinstance(headers, Mapping) else headers)
    names = {name.lower() for name, _ in fields}
    # Other answers have no content (RFC 9110, section 6.4.1).
    if reply.status >= 200 and reply.status not in (NO_CONTENT, NOT_MODIFIED):
        if "content-type" not in names:
            fields.append(("Content-Type", HTML_TYPE))
        if not names & {"content-length", "transfer-encoding"}:
            fields.append(("Content-Length", str(len(body))))
    lines = [f"HTTP/1.1 {reply.status} {responses.get(reply.status, '')}"]
    lines += [f"{name}: {value}" for name, value in fields]
    # Real servers put UTF-8 where only ASCII is allowed; a test may want to do the same.
    head = "\r\n".join([*lines, "", ""]).encode()
    closes = ("connection", "close") in [(name.lower(), value.lower()) for name, value in fields]
    return Prepared(whole=head + body, head=head, delay_s=reply.delay_s, closes=closes)


NOT_FOUND = prepare(Reply(status=404, headers={"Content-Type": TEXT_TYPE}, body="Not found.\n"))
"""The answer for an unknown path."""


class Folder:
    """The answers for targets under a prefix: the files of a directory, and never others.

    A file is read at the first request, and cached.
    """

    def __init__(self, prefix: str, root: Path) -> None:
        self._prefix = prefix
        self._root = root.resolve()
        # A table of our own: the same types on every machine, whatever /etc/mime.types says.
        self._types = mimetypes.MimeTypes()
        self._cache: dict[str, Prepared] = {}

    def answer(self, target: str) -> Prepared:
        """Return the file, a redirect to a directory's slash, or 404."""
        path = target.partition("?")[0]
        try:
            return self._cache.get(path) or self._find(path)
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
        reply = prepare(Reply(headers={"Content-Type": kind}, body=file.read_bytes()))
        self._cache[path] = reply
        return reply


SiteAnswer: TypeAlias = Reply | Raw


class Site:
    """One host; answers may be added while the server runs.

    A path registered with a query answers exactly that query; one without answers any.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._routes: dict[str, list[Prepared | Raw]] = {}
        self._prefixes: dict[str, Callable[[str], Prepared | Raw]] = {}

    def page(
        self,
        path: str,
        links: Iterable[str] = (),
        title: str = "",
        text: str = "",
        html: str | bytes | None = None,
    ) -> None:
        """Answer with a small page that has these links, or with the HTML given."""
        body = _page(links, title or path, text) if html is None else html
        self.reply(path, Reply(headers={"Content-Type": HTML_TYPE}, body=body))

    def redirect(self, path: str, target: str, status: int = 301) -> None:
        """Answer with a redirect; the target is sent unchanged as Location."""
        self.reply(path, Reply(status=status, headers={"Location": target}))

    def status(self, path: str, status: int, headers: HeaderFields = ()) -> None:
        """Answer with a bare status."""
        self.reply(path, Reply(status=status, headers=headers))

    def robots(self, text: str | bytes) -> None:
        """Answer /robots.txt with this text; by default it is not found."""
        self.reply("/robots.txt", Reply(headers={"Content-Type": TEXT_TYPE}, body=text))

    def raw(self, path: str, *steps: RawStep) -> None:
        """Answer with exactly these bytes and pauses, whatever the method."""
        self.reply(path, Raw(steps))

    def reply(self, path: str, *answers: SiteAnswer) -> None:
        """Answer the first request with the first answer and so on; the last one repeats."""
        _check_path(path)
        if not answers:
            raise UsageError(f"{self.name}{path} needs at least one answer")
        self._routes[path] = [_ready(answer) for answer in answers]

    def folder(self, prefix: str, root: Path) -> None:
        """Serve the files of a directory under a prefix that ends in a slash."""
        _check_path(prefix)
        if not prefix.endswith("/"):
            raise UsageError(f"the prefix of a folder must end with a slash: {prefix!r}")
        if not root.is_dir():
            raise UsageError(f"there is no directory {root}")
        self._prefixes[prefix] = Folder(prefix, root).answer

    def under(self, prefix: str, answer: Callable[[str], SiteAnswer | None]) -> None:
        """Let a function answer every target (path and query) with this prefix; None is a 404.

        It runs in the server's thread. With it a site can be endless, such as a calendar.
        """
        _check_path(prefix)
        self._prefixes[prefix] = lambda target: _ready(answer(target))

    def answer(self, target: str) -> Prepared | Raw:
        """Return the answer for the next request of this target."""
        answers = self._routes.get(target) or self._routes.get(target.partition("?")[0])
        if answers is not None:
            return answers.pop(0) if len(answers) > 1 else answers[0]
        longest = max(filter(target.startswith, list(self._prefixes)), key=len, default=None)
        return NOT_FOUND if longest is None else self._prefixes[longest](target)


def _ready(answer: SiteAnswer | None) -> Prepared | Raw:
    if answer is None:
        return NOT_FOUND
    return prepare(answer) if isinstance(answer, Reply) else answer


def _check_path(path: str) -> None:
    if not path.startswith("/"):
        raise UsageError(f"a path must start with a slash: {path!r}")


def _page(links: Iterable[str], title: str, text: str) -> str:
    items = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>\n' for link in links)
    return (
        '<!doctype html>\n<html lang="en">\n'
        f"<head><title>{escape(title)}</title></head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n"
        f"<p>{escape(text)}</p>\n<ul>\n{items}</ul>\n</body>\n</html>\n"
    )
