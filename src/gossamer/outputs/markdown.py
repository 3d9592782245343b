"""A directory of Markdown: the main content of each page, with what is known of it in front.

The front matter is YAML in which each value is also JSON, so that nothing in a title can end it.
"""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec

from gossamer.content.links import ResolvedLinks
from gossamer.content.sniff import parse_content_type
from gossamer.model import Page
from gossamer.model.names import ContentKind
from gossamer.outputs.directory import PageForm
from gossamer.outputs.mirror import Replace, rewrite_html
from gossamer.outputs.page_paths import AbsoluteLinks, FindPath, local_link

# Code is skipped, and so is what is escaped: the writer of Markdown does so with brackets that are
# text, and with a backslash, which may stand before one that is not.
# A table that Markdown has no way to write is HTML up to an empty line: backticks are text there.
_LINK: Final = re.compile(
    r"""(?P<table>^[ >]*<table\b.*(?:\n.*\S.*)*)
      | (?P<skipped>
          \\.
        | ^[ >]*(?P<fence>`{3,})[^`\n]*\n(?:.*\n)*?[ >]*(?P=fence)[ ]*$
        | (?<!`)(?P<ticks>`+)(?!`)(?:[^`]|(?!(?<!`)(?P=ticks)(?!`))`)+(?P=ticks)(?!`)
        )
      | \]\((?:<(?P<angled>(?:[^<>\\\n]|\\.)*)>
                    |(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))
      | <(?P<auto>https?://[^\s<>]+)>
      | (?P<tag><[a-zA-Z][a-zA-Z0-9]*\s[^<>]*>)""",
    re.VERBOSE | re.MULTILINE,
)
_ESCAPED: Final = re.compile(r"\\(.)")
_SPECIAL: Final = re.compile(r"[\s()<>\\]")
_FENCE: Final = "---\n"
_TICKS: Final = re.compile("`+")
_DEPTH: Final = re.compile(rb"^depth: \d+$", re.MULTILINE)
# YAML takes these only as escapes; JSON escapes the other control characters itself.
_NOT_PRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def rewrite_markdown(text: str, replace: Replace) -> str:
    """Return Markdown with its links replaced; those in code are none."""

    def link(match: re.Match[str]) -> str:
        if match["skipped"] is not None:
            return match[0]
        if match["table"] is not None or match["tag"] is not None:
            return rewrite_html(match[0], replace)
        if (automatic := match["auto"]) is not None:
            new = replace(automatic)
            return match[0] if new is None else f"[{automatic}]({_destination(new)})"
        written = match["angled"] if match["angled"] is not None else match["plain"]
        new = replace(_ESCAPED.sub(r"\1", written)) if written else None
        return match[0] if new is None else f"]({_destination(new)}"

    return _LINK.sub(link, text)


def _destination(link: str) -> str:
    """Return a link so that nothing in it ends it."""
    return _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", link)


class MarkdownForm(PageForm):
    """Pages as Markdown files with links between them; what has no text gets no file."""

    follows_depths = True

    def __init__(self) -> None:
        self._resolved = ResolvedLinks()

    def extension(self, page: Page) -> str | None:
        """Return what the name of every file ends in."""
        return ".md" if page.kind.is_page else None

    def content(self, page: Page) -> bytes:
        """Return the page with absolute links."""
        links = AbsoluteLinks(page.url, page.url, "utf-8", self._resolved)
        body = rewrite_markdown(_body(page), links)
        return _front_matter(page) + body.encode(errors="replace") + b"\n"

    def localised(self, content: bytes, path: str, find: FindPath) -> bytes:
        """Return the file with relative links to the pages that are kept."""
        head, fence, body = content.decode().removeprefix(_FENCE).partition(_FENCE)
        text = rewrite_markdown(body, lambda href: local_link(href, path, find))
        return (_FENCE + head + fence + text).encode()

    def with_depth(self, content: bytes, depth: int) -> bytes:
        """Return the file with another depth of its page."""
        return _DEPTH.sub(b"depth: %d" % depth, content, count=1)


def _body(page: Page) -> str:
    """Return the main content; text that is not Markdown is shown as it is."""
    text = page.markdown
    is_plain = parse_content_type(page.content_type).essence != "text/markdown"
    if page.kind is ContentKind.TEXT and is_plain:
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
        return f"{fence}\n{text}\n{fence}"
    return text


def _front_matter(page: Page) -> bytes:
    fetched = datetime.fromtimestamp(page.fetched_at, UTC)
    fields = {
        "url": page.url,
        "title": page.title,
        "description": page.metadata.description,
        "language": page.language,
        "depth": page.depth,
        "status": page.status,
        "fetched_at": fetched.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    known = "".join(
        f"{name}: {_yaml(value)}\n" for name, value in fields.items() if value not in {"", None}
    )
    return f"{_FENCE}{known}{_FENCE}\n".encode()


def _yaml(value: str | int | None) -> str:
    """Return a value that means the same in YAML and in JSON."""
    if isinstance(value, str):  # a lone surrogate is in no file
        value = value.encode(errors="replace").decode()
    return _NOT_PRINTABLE.sub(
        lambda match: f"\\u{ord(match[0]):04X}", msgspec.json.encode(value).decode()
    )
