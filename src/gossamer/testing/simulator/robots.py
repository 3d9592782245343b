"""Faults of robots.txt and of sitemaps: huge, broken, slow, looping, contradictory."""

from gossamer.testing.simulator.content import gzip_bomb
from gossamer.testing.simulator.fault import (
    Fault,
    FaultRequest,
    Player,
    always,
    linking,
    raw,
    status,
    typed,
)
from gossamer.testing.site import TEXT_TYPE, KeepOpen, Repeat, Reply, SiteAnswer

ROBOTS = "/robots.txt"
_SITEMAP = "/sitemap.xml"
_FORBIDDING = "User-agent: *\nDisallow: /fault\n"
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _text(body: str | bytes) -> Player:
    return always(typed(body, TEXT_TYPE))


def _redirected(request: FaultRequest) -> Reply:
    """Redirect five times, and forbid then."""
    number = int(request.target.partition("?")[2] or 0)
    if number == 5:
        return typed(_FORBIDDING, TEXT_TYPE)
    return Reply(status=301, headers={"Location": f"{ROBOTS}?{number + 1}"})


def _elsewhere(request: FaultRequest) -> Reply:
    """Redirect to the file of a host that forbids; here the rules are those of this host."""
    scheme, _, name = request.origin.partition("://")
    other = f"{scheme}://robots-bom.{name.partition('.')[2]}{ROBOTS}"
    return Reply(status=301, headers={"Location": other})


def _robots(name: str, summary: str, play: Player) -> Fault:
    return Fault(name, summary, play, at=(ROBOTS,))


_OF_ROBOTS = (
    _robots(
        "robots-huge",
        "sends 500 MB of robots.txt, of which the first lines forbid",
        raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 500000000\r\n\r\n",
            _FORBIDDING.encode(),
            Repeat(b"Disallow: /somewhere/else\n" * 1_000, times=20_000),
        ),
    ),
    _robots("robots-html", "sends a page as its robots.txt", always(Reply(body=linking("/fault")))),
    _robots("robots-binary", "sends bytes as its robots.txt", _text(bytes(range(256)) * 40)),
    _robots(
        "robots-bom", "begins with a byte order mark", _text(b"\xef\xbb\xbf" + _FORBIDDING.encode())
    ),
    _robots("robots-utf16", "is in UTF-16", _text(_FORBIDDING.encode("utf-16"))),
    _robots("robots-401", "asks for a password", status(401)),
    _robots("robots-403", "refuses it", status(403)),
    _robots("robots-410", "says it is gone", status(410)),
    _robots("robots-429", "says we ask too often", status(429, Retry_After="100000")),
    _robots("robots-500", "fails", status(500)),
    _robots("robots-silent", "says nothing", raw(KeepOpen())),
    _robots(
        "robots-slow",
        "sends a byte every half second",
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", Repeat(b"#", every_s=0.5)),
    ),
    _robots("robots-redirected", "is behind five redirects", _redirected),
    _robots("robots-elsewhere", "is that of another host, which forbids", _elsewhere),
    _robots("robots-loop", "redirects to itself", status(301, Location=ROBOTS)),
    _robots("robots-bomb", "unpacks to 200 MB", lambda _: _bomb("text/plain")),
    _robots(
        "delay-huge",
        "wants a thousand million seconds between requests",
        _text("User-agent: *\nCrawl-delay: 1e9\n"),
    ),
    _robots(
        "delay-odd",
        "wants a delay that is no number",
        _text("User-agent: *\nCrawl-delay: NaN\nCrawl-delay: -5\n"),
    ),
)


def _bomb(kind: str) -> Reply:
    return typed(gzip_bomb(), kind, Content_Encoding="gzip")


def _sitemap(name: str, summary: str, play: Player) -> Fault:
    """Return a fault of the sitemap that robots.txt names."""

    def answer(request: FaultRequest) -> SiteAnswer | None:
        if request.target == ROBOTS:
            return typed(f"User-agent: *\nSitemap: {request.origin}{_SITEMAP}\n", TEXT_TYPE)
        return play(request)

    return Fault(name, summary, answer, at=(ROBOTS, _SITEMAP))


def _index(request: FaultRequest) -> Reply:
    """Name itself and others, for ever."""
    location = f"{request.origin}{_SITEMAP}?{request.target.count('x')}"
    items = "".join(f"<sitemap><loc>{location}{end}</loc></sitemap>" for end in ("", "x", "xx"))
    return _xml(f'<sitemapindex xmlns="{_NAMESPACE}">{items}</sitemapindex>')


def _xml(text: str) -> Reply:
    return typed(f'<?xml version="1.0"?>{text}', "application/xml")


_ENTITIES = "".join(
    f'<!ENTITY l{number} "{f"&l{number - 1};" * 10 if number else "lol"}">' for number in range(10)
)
_LAUGHS = f"<!DOCTYPE u [{_ENTITIES}]><urlset><url><loc>&l9;</loc></url></urlset>"
_FILE = '<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]><urlset><url><loc>&x;</loc></url></urlset>'

_OF_SITEMAPS = (
    _sitemap("sitemap-html", "sends a page as its sitemap", always(Reply(body=linking("/")))),
    _sitemap("sitemap-index-loop", "names itself and others as sitemaps", _index),
    _sitemap("sitemap-entities", "is a billion laughs", lambda _: _xml(_LAUGHS)),
    _sitemap("sitemap-file", "names a file as an entity", lambda _: _xml(_FILE)),
    _sitemap("sitemap-bomb", "unpacks to 200 MB", lambda _: _bomb("application/xml")),
    _sitemap("sitemap-cut", "ends in the middle", lambda _: _xml("<urlset><url><loc>http")),
)

ROBOTS_FAULTS = (*_OF_ROBOTS, *_OF_SITEMAPS)
