"""Faults of links: odd spellings, dangerous targets, redirects, traps without end."""

from urllib.parse import urlsplit

from gossamer.testing.simulator.content import EVIL
from gossamer.testing.simulator.fault import (
    END,
    FAULT_PATH,
    Fault,
    FaultRequest,
    Player,
    answers,
    draws,
    ended,
    ended_by,
    linked,
    linking,
    status,
    typed,
)
from gossamer.testing.site import Raw, Reply

_SCHEMES = [
    "javascript:1",
    "data:,x",
    "mailto:a@b.test",
    "tel:1",
    "blob:x",
    "about:blank",
    "ftp://x/",
]
_ODD = (
    "/fault/a\x00b",
    "/fa\tult/\nend",
    "\\fault\\back",
    "/fault/%00",
    "/fault/%zz",
    " /fault/end ",
)
_IDN = [
    f"http://{name}/"
    for name in ("xn--\x80.invalid", "xn--a.invalid", "a\u200db.invalid", "\uff0e")
]
_LOOPBACKS = [f"http://{host}:9/" for host in ("2130706433", "017700000001", "0x7f.1", "[::1]")]


def _page(name: str, summary: str, page: Reply) -> Fault:
    return Fault(name, summary, ended(lambda: page))


LINKS = (
    _page("schemes-odd", "links to all but the web", linked(*_SCHEMES, END)),
    _page(
        "credentials", "puts a password into its links", linked("http://u:p@nobody.invalid/", END)
    ),
    _page(
        "urls-long",
        "has links of 9,000 and 100,000 letters",
        linked("/" + "a" * 9_000, "/" + "b" * 100_000, END),
    ),
    _page("urls-odd", "has links with NUL, tabs, backslashes", linked(*_ODD, END)),
    _page(
        "urls-bytes",
        "has links that are no UTF-8",
        typed(b'<a href="/fault/end">x</a><a href="/fault/\xff?q=\xfe">y</a>'),
    ),
    _page("urls-idn", "has links to names that cannot be", linked(*_IDN, END)),
    _page(
        "urls-loopback", "links to the crawler's machine, oddly spelled", linked(*_LOOPBACKS, END)
    ),
    _page(
        "titles-evil",
        "has escape sequences everywhere",
        typed(linking(END, text=EVIL, head=f"<title>{EVIL}</title>"), Server=EVIL),
    ),
    _page(
        "nofollow",
        "asks not to follow its links",
        linked(END, head='<meta name="robots" content="nofollow">'),
    ),
    _page(
        "x-robots-tag",
        "asks so in a header for us",
        typed(linking(END), X_Robots_Tag="gossamer: nofollow"),
    ),
    _page(
        "cookie-wide",
        "sets a cookie for a whole top-level domain",
        typed(linking(END), Set_Cookie="a=b; Domain=test"),
    ),
)


def _to(location: str) -> Reply:
    return Reply(status=302, headers={"Location": location})


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


_REFRESH_SELF = f'<meta http-equiv="refresh" content="0;url={FAULT_PATH}">'


REDIRECTS = (
    Fault("redirect-loop", "redirects in a circle", _loop),
    Fault("redirect-chain", "redirects on and on", _chain),
    Fault("redirect-self-cookie", "redirects to itself and sets a cookie", _self_cookie),
    Fault("redirect-nowhere", "redirects without a Location", status(302)),
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
    answers("redirect-ftp", "redirects to ftp", _to("ftp://nobody.invalid/")),
    answers("redirect-javascript", "redirects to a script", _to("javascript:alert(1)")),
    answers("redirect-file", "redirects to a file", _to("file:///etc/passwd")),
    answers("redirect-data", "redirects to data", _to("data:text/html,<p>hi</p>")),
    answers("redirect-loopback", "redirects to the crawler's machine", _to("http://0x7f.1:9/")),
    Fault("redirect-no-host", "redirects to a name that does not exist", _other_host),
    Fault("redirect-crlf", "redirects to a path with line breaks", _once("/fault/a%0d%0aX: 1")),
    Fault("refresh-loop", "refreshes in a circle", _refresh),
    answers("refresh-self", "refreshes to itself", linked(head=_REFRESH_SELF)),
    answers(
        "refresh-header",
        "refreshes to itself by a header",
        typed("<p>Once more.</p>", Refresh=f"0;url={FAULT_PATH}"),
    ),
)


_WORDS = ("silk", "orb", "hub", "dew", "moth", "reed", "loom", "knot", "husk", "fern", "moss")


def _letters(key: str, count: int) -> str:
    draw = draws(key)
    return "".join("abcdefghijklmnopqrstuvwxyz"[int(draw() * 26)] for _ in range(count))


def _prose(key: str) -> str:
    draw = draws(key)
    return " ".join(_WORDS[int(draw() * len(_WORDS))] for _ in range(60))


def _calendar(request: FaultRequest) -> Reply:
    """Return a day, which links to the next one and to the next month."""
    day = int(request.target.rpartition("=")[2] or 0) if "=" in request.target else 0
    links = [f"{FAULT_PATH}/day?d={day + step}" for step in (1, 30)]
    return linked(*links, text=f"Nothing happens on day {day}.")


def _sessions(parameter: str) -> Player:
    """Return what answers with one of ten pages, with links under a new session."""

    def play(request: FaultRequest) -> Reply:
        links = [
            f"{FAULT_PATH}/{number}?{parameter}={_letters(f'{request.target}{number}', 16)}"
            for number in range(10)
        ]
        return linked(*links, text=_prose(request.target.partition("?")[0]))

    return play


def _deep(request: FaultRequest) -> Reply:
    """Return a page that links one level deeper, with the segment repeated."""
    return linked(f"{request.target.partition('?')[0]}/a", text=_prose(request.target))


def _relative(_request: FaultRequest) -> Reply:
    """Return a page with relative links below a path that takes any suffix: they pile up."""
    return linked("fault/b/c/", "b/c/", text="A shop for shoes.")


def _facets(request: FaultRequest) -> Reply:
    """Return a page with filters that can be combined in any order."""
    path, _, query = request.target.partition("?")
    chosen = query.split("&") if query else []
    links = [
        f"{path}?{'&'.join([*chosen, f'{word}=1'])}" for word in _WORDS if f"{word}=1" not in chosen
    ]
    return linked(*links, text=_prose(" ".join(sorted(chosen))))


def _maze(request: FaultRequest) -> Reply:
    """Return a page that nobody wrote, with links to more of them."""
    names = [_letters(f"{request.target} {number}", 12) for number in range(8)]
    links = [f"{FAULT_PATH}/{name[:5]}/{name[5:]}" for name in names]
    return linked(*links, text=_prose(request.target))


def _growing(request: FaultRequest) -> Reply:
    """Return a page whose link has a longer query."""
    path, _, query = request.target.partition("?")
    query = f"{query}&next=1" if query else "next=1"
    return linked(f"{path}?{query}", text=_prose(request.target))


def _soft(request: FaultRequest) -> Reply:
    """Answer 200 to everything, with links to more that is not there."""
    links = [f"{FAULT_PATH}/{_letters(f'{request.target}{number}', 8)}" for number in range(3)]
    return linked(*links, text="Sorry, there is no such page here. Try one of these.")


def _same(request: FaultRequest) -> Reply:
    """Return the page that has a hundred names."""
    return linked(*(f"{FAULT_PATH}/{number}" for number in range(100)), text="The same, always.")


TRAPS = (
    Fault("calendar", "has a page for every day of all years", _calendar),
    Fault("session-ids", "gives each visit a session of a known name", _sessions("PHPSESSID")),
    Fault("session-unknown", "gives each visit a session of an odd name", _sessions("zx")),
    Fault("path-deep", "has a page one level deeper, always", _deep),
    Fault("path-relative", "has relative links that pile up", _relative),
    Fault("facets", "has filters that can be combined", _facets),
    Fault("maze", "invents pages", _maze),
    Fault("query-growing", "has a query that grows", _growing),
    Fault("soft-404", "answers 200 to everything", _soft),
    Fault("same-page", "has one page under a hundred names", _same),
)
