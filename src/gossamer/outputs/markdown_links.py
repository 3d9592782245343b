"""The links in Markdown, replaced."""

import re
from html import escape, unescape
from typing import Final

from gossamer.outputs.html_links import Replace

# Code is skipped. The rest is as the writer of Markdown has it: brackets that are text are escaped,
# and a table that Markdown cannot express is HTML.
_LINK: Final = re.compile(
    r"""(?P<code>
          ^[ >]*(?P<fence>`{3,})[^`\n]*\n(?:.*\n)*?[ >]*(?P=fence)[ ]*$
        | (?<![`\\])(?P<ticks>`+)(?!`)(?:[^`]|(?!(?<!`)(?P=ticks)(?!`))`)+(?P=ticks)(?!`)
        )
      | (?<!\\)\]\((?:<(?P<angled>(?:[^<>\\\n]|\\.)*)>
                    |(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*\))*))
      | (?<!\\)<(?P<auto>https?://[^\s<>]+)>
      | (?<!\\)(?P<tag><a\s[^<>]{0,2000}?(?<=\s)href=")(?P<attribute>[^"]*)(?=")""",
    re.VERBOSE | re.MULTILINE,
)
_ESCAPED: Final = re.compile(r"\\(.)")
_SPECIAL: Final = re.compile(r"[\s()<>\\]")


def rewrite_markdown(text: str, replace: Replace) -> str:
    """Return Markdown with its links replaced; those in code are none."""

    def link(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        if (automatic := match["auto"]) is not None:
            new = replace(automatic)
            return match[0] if new is None else f"[{automatic}]({_destination(new)})"
        if (attribute := match["attribute"]) is not None:
            new = replace(unescape(attribute))
            return match[0] if new is None else match["tag"] + escape(new)
        written = match["angled"] if match["angled"] is not None else match["plain"]
        new = replace(_ESCAPED.sub(r"\1", written)) if written else None
        return match[0] if new is None else f"]({_destination(new)}"

    return _LINK.sub(link, text)


def _destination(link: str) -> str:
    """Return a link so that nothing in it ends it."""
    return _SPECIAL.sub(lambda one: f"%{ord(one[0]):02X}", link)
