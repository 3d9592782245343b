"""Faults of links: odd spellings, dangerous targets, links not to be followed."""

from urllib.parse import urlsplit

from gossamer.testing.simulator.content import EVIL
from gossamer.testing.simulator.fault import (
    END,
    FAULT_PATH,
    Fault,
    FaultRequest,
    Player,
    ended,
    ended_by,
    linked,
    linking,
    typed,
)
from gossamer.testing.site import Raw, Reply

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


def _to(location: str, *, status: int = 302) -> Reply:
    return Reply(status=status, headers={"Location": location})


def _once(location: str) -> Player:
    """Return what redirects there, and has a page at the end of it."""
    return ended(lambda: _to(location))


def _loop(request: FaultRequest) -> Reply:
    return _to("/fault/b" if request.target.endswith("/a") else "/fault/a")


def _chain(request: FaultRequest) -> Reply:
    number = int(request.target.rpartition("/")[2] or 0) if request.target != FAULT_PATH else 0
    return _to(f"{FAULT_PATH}/{number + 1}")


def _self_cookie(request: FaultRequest) -> Reply:
    if "seen=1" in (request.record.headers.get("cookie") or ""):
        return linked(text="You have a cookie.")
    return Reply(status=302, headers={"Location": FAULT_PATH, "Set-Cookie": "seen=1"})


_BYTES = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /fault/\xff\xfe b\r\n\r\n"


def _other_host(request: FaultRequest) -> Reply:
    """Lead to the same port of a name that does not exist."""
    port = urlsplit(request.origin).port
    return _to(f"http://nobody.invalid{f':{port}' if port else ''}/")


def _refresh(request: FaultRequest) -> Reply:
    other = "/fault/b" if request.target.endswith("/a") else "/fault/a"
    return linked(head=f'<meta http-equiv="refresh" content="0;url={other}">')


def _refresh_self(_request: FaultRequest) -> Reply:
    return linked(head=f'<meta http-equiv="refresh" content="0;url={FAULT_PATH}">')


def _refresh_header(_request: FaultRequest) -> Reply:
    return Reply(headers={"Refresh": f"0;url={FAULT_PATH}"}, body="<p>Once more.</p>")


REDIRECTS = (
    Fault("redirect-loop", "redirects in a circle", _loop),
    Fault("redirect-chain", "redirects on and on", _chain),
    Fault("redirect-self-cookie", "redirects to itself and sets a cookie", _self_cookie),
    Fault("redirect-nowhere", "redirects without a Location", lambda _: Reply(status=302)),
    Fault("redirect-relative", "redirects to a relative path", _once("fault/../fault/end")),
    Fault("redirect-spaces", "redirects to a path with spaces", _once("  /fault/the end ")),
    Fault("redirect-utf8", "redirects to a path in raw UTF-8", _once("/fault/ende-für-heute")),
    Fault("redirect-bytes", "redirects to a path that is no text", ended(lambda: Raw([_BYTES]))),
    Fault("redirect-fragment", "redirects to a fragment", _once(f"{END}#part")),
    Fault(
        "redirect-network-path",
        "redirects to its own name without a scheme",
        ended_by(lambda request: _to(f"{request.origin.partition(':')[2]}{END}")),
    ),
    Fault("redirect-ftp", "redirects to ftp", lambda _: _to("ftp://nobody.invalid/")),
    Fault("redirect-javascript", "redirects to a script", lambda _: _to("javascript:alert(1)")),
    Fault("redirect-file", "redirects to a file", lambda _: _to("file:///etc/passwd")),
    Fault("redirect-data", "redirects to data", lambda _: _to("data:text/html,<p>hi</p>")),
    Fault(
        "redirect-loopback", "redirects to the crawler's machine", lambda _: _to("http://0x7f.1:9/")
    ),
    Fault("redirect-no-host", "redirects to a name that does not exist", _other_host),
    Fault("redirect-crlf", "redirects to a path with line breaks", _once("/fault/a%0d%0aX: 1")),
    Fault("refresh-loop", "refreshes in a circle", _refresh),
    Fault("refresh-self", "refreshes to itself", _refresh_self),
    Fault("refresh-header", "refreshes to itself by a header", _refresh_header),
)
