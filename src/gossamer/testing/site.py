"""One host of the simulated web: its paths and their answers."""

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import TypeAlias

from gossamer.errors import UsageError
from gossamer.testing.folder import Folder
from gossamer.testing.replies import (
    HTML_TYPE,
    NOT_FOUND,
    TEXT_TYPE,
    HeaderFields,
    Prepared,
    Raw,
    RawStep,
    Reply,
    prepare,
)

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
