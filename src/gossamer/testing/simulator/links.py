"""Faults of links: odd spellings, dangerous targets, links not to be followed."""

from gossamer.testing.replies import Reply
from gossamer.testing.simulator.content import EVIL
from gossamer.testing.simulator.fault import END, Fault, Player, ended, linked, linking, typed

_SCHEMES = (
    "javascript:1",
    "data:,x",
    "mailto:a@b.test",
    "tel:1",
    "blob:x",
    "about:blank",
    "ftp://x/",
)
_ODD = (
    "/fault/a\x00b",
    "/fa\tult/\nend",
    "\\fault\\back",
    "/fault/%00",
    "/fault/%zz",
    " /fault/end ",
)
_IDN = (
    "http://xn--\x80.invalid/",
    "http://xn--a.invalid/",
    "http://a\u200db.invalid/",
    "http://\uff0e/",
)
_LOOPBACKS = (
    "http://2130706433:9/",
    "http://017700000001:9/",
    "http://0x7f.1:9/",
    "http://[::1]:9/",
)


def _with_end(page: Reply) -> Player:
    return ended(lambda: page)


LINKS = (
    Fault("schemes-odd", "links to all but the web", _with_end(linked(*_SCHEMES, END))),
    Fault(
        "credentials",
        "puts a password into its links",
        _with_end(linked("http://u:p@nobody.invalid/", END)),
    ),
    Fault(
        "urls-long",
        "has links of 9,000 and 100,000 letters",
        _with_end(linked("/" + "a" * 9_000, "/" + "b" * 100_000, END)),
    ),
    Fault("urls-odd", "has links with NUL, tabs, backslashes", _with_end(linked(*_ODD, END))),
    Fault(
        "urls-bytes",
        "has links that are no UTF-8",
        _with_end(typed(b'<a href="/fault/end">x</a><a href="/fault/\xff?q=\xfe">y</a>')),
    ),
    Fault("urls-idn", "has links to names that cannot be", _with_end(linked(*_IDN, END))),
    Fault(
        "urls-loopback",
        "links to the crawler's machine, oddly spelled",
        _with_end(linked(*_LOOPBACKS, END)),
    ),
    Fault(
        "titles-evil",
        "has escape sequences everywhere",
        _with_end(typed(linking(END, text=EVIL, head=f"<title>{EVIL}</title>"), Server=EVIL)),
    ),
    Fault(
        "nofollow",
        "asks not to follow its links",
        _with_end(linked(END, head='<meta name="robots" content="nofollow">')),
    ),
    Fault(
        "x-robots-tag",
        "asks so in a header for us",
        _with_end(typed(linking(END), X_Robots_Tag="gossamer: nofollow")),
    ),
    Fault(
        "cookie-wide",
        "sets a cookie for a whole top-level domain",
        _with_end(typed(linking(END), Set_Cookie="a=b; Domain=test")),
    ),
)
