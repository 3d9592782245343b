"""The demonstration site: a dozen pages to crawl without a network.

They are about a spider, and have what every crawler meets: a cycle, repeated links, a redirect,
a missing page, one that robots.txt forbids, a link that leaves the site and one to a picture.
"""

import base64

from gossamer.testing.server import LOOPBACK
from gossamer.testing.site import Reply
from gossamer.testing.web import Web

_ROBOTS = """\
# Guests are welcome in every room but one.
User-agent: *
Disallow: /larder.html
"""

# One grey pixel: the spider, seen from very far away.
_PORTRAIT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="
)

_HTML = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<h1>{title}</h1>
{text}
</body>
</html>
"""

_PAGES = """\
# / Gossamer
<p>On a still morning in October a meadow can be grey with thread. Nobody saw it made.
This is the story of the <a href="/spider.html">spider</a> who made some of it, of her
<a href="/silk.html">silk</a>, and of the <a href="/meadow.html">meadow</a>.</p>
<p>There is a <a href="/portrait.png">portrait</a>, though the <a href="/spider.html">spider</a>
would not keep still. The <a href="/cobweb.html">cobweb</a> has moved, the
<a href="/attic.html">attic</a> was swept, and the <a href="/larder.html">larder</a> is private.</p>
# /spider.html The spider
<p>She has eight eyes and sees badly with all of them. What she knows of the world she knows
through her feet, from the hub of <a href="/orb.html">her web</a>.</p>
<p>Back to the <a href="/">beginning</a>, or on to the <a href="/silk.html">silk</a>.</p>
# /silk.html Silk
<p>It leaves the <a href="/spinnerets.html">spinnerets</a> as a liquid and is a thread before
it has gone a millimetre. There are several kinds; the one she trusts is the
<a href="/dragline.html">dragline</a>. The <a href="/spider.html">spider</a> eats what is left.</p>
# /spinnerets.html Spinnerets
<p>Six small fingers at her back, each a rake of taps. She can run seven sorts of
<a href="/silk.html">silk</a> from them, two at once if she is in a hurry.</p>
# /dragline.html The dragline
<p>Wherever she walks she pays out a line behind her, and so has never once been lost:
every place she has been is one thread away from the last. When she falls, it holds. When she
lets it go in a breeze, it becomes <a href="/ballooning.html">something else</a>.
It is <a href="/silk.html">silk</a>, like everything here.</p>
# /ballooning.html Ballooning
<p>The young climb to the tip of a grass blade, stand on their toes and let out a thread until
the air takes it. Some come down in the <a href="/meadow.html">next meadow</a>. Sailors have
found them in the rigging, far out at sea, on their way to
<a href="http://meadow.example/">another meadow altogether</a>.</p>
<p>They leave a <a href="/dragline.html">dragline</a> even then.</p>
# /meadow.html The meadow
<p>Ten thousand landings leave ten thousand threads. Towards <a href="/dawn.html">dawn</a> they
can be seen. How they came there: by <a href="/ballooning.html">balloon</a>.</p>
# /dawn.html Dawn
<p>For an hour the dew counts every thread there is. <a href="/orb.html">The web</a> has
forty-one spokes; yesterday's had forty. Then the sun comes, and it is gossamer again.
The <a href="/meadow.html">meadow</a> dries last.</p>
# /orb.html The orb
<p>First a bridge, then a Y, then spokes, then the spiral, walked twice: once dry, to have
something to stand on, and once <a href="/sticky.html">sticky</a>, inwards, eating the first.
It takes her half an hour, in the dark, by touch.</p>
<p>See also <a href="/orb.html#hub">the hub</a>, <a href="/dawn.html">dawn</a>, and, when a
thread gives way, <a href="/mending.html">mending</a>.</p>
# /sticky.html Why she does not stick
<p>She walks on the dry spokes, and she oils her feet. Guests of
<a href="/orb.html">the orb</a> have done neither.</p>
# /mending.html Mending
<p>One cut thread is nothing: the others take its load and the hole stays where it is. This is
the whole art. She waits for <a href="/night.html">night</a> and begins again at
<a href="/orb.html">the orb</a>.</p>
# /night.html Night
<p>She takes down the old web, rolls it up and eats it, every thread once. Nothing is lost.
In the morning there is a new one, and you are back at <a href="/">the beginning</a>.</p>
# /larder.html The larder
<p>You were asked not to look in here.</p>
"""
"""The pages: a line with the path and the title, then the text."""


def demo_site(web: Web) -> str:
    """Describe the demonstration site on a running web and return the URL to start from.

    The URL has an IP address, so that it can be crawled without a name table.
    """
    site = web.site(LOOPBACK)
    for page in _PAGES.removeprefix("# ").split("\n# "):
        head, _, text = page.partition("\n")
        path, _, title = head.partition(" ")
        site.page(path, html=_HTML.format(title=title, text=text.rstrip()))
    site.robots(_ROBOTS)
    site.redirect("/cobweb.html", "/orb.html")
    site.reply("/portrait.png", Reply(headers={"Content-Type": "image/png"}, body=_PORTRAIT))
    return f"{web.base_url}/"
