"""The links in Markdown, replaced, and those in the HTML that it may have in it."""

import re
from typing import Final

from gossamer.outputs.html_links import Replace, rewrite_html

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
    return _SPECIAL.sub(lambda one: f"%{ord(one[0]):02X}", link)
