"""What a page costs: parsed, its links resolved, normalised and judged, in CPU time.

Run as a script. The same work is done with lxml and urllib in the same run, so that the ratio
means something on every machine.
"""

import time
from collections.abc import Callable
from urllib import parse as urllib_parse

from lxml import html as lxml_html

from gossamer.content.charset import decode
from gossamer.content.html_tree import HtmlTree
from gossamer.content.page_parser import parse
from gossamer.model import Url
from gossamer.urls import Scope, resolve

LIMIT_US = 400
LINKS = 32
PAGE = Url("http://docs.example/manual/15/indexes-partial.html")
CONTENT_TYPE = "text/html; charset=utf-8"
SCOPE = Scope.for_seeds("host", [PAGE])


HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>11.8. Partial Indexes</title>
<link rel="stylesheet" type="text/css" href="stylesheet.css"><link rel="next" href="next.html">
<meta name="viewport" content="width=device-width"><meta name="robots" content="index,follow">
<script>var page = "indexes-partial"; if (page < 1) { load(page); }</script></head>
<body id="docContent" class="container-fluid"><div class="navheader"><table width="100%"><tr>
<th colspan="5" align="center">11.8. Partial Indexes</th></tr></table><hr></div>
"""
SECTION = """<div class="sect2" id="INDEXES-{number}"><div class="titlepage"><h3 class="title">
11.8.{number}. Excluding Common Values</h3></div>
<p>A <em class="firstterm">partial index</em> is an index built over a subset of a table; this
is defined by a conditional expression (called the <em class="firstterm">predicate</em>).
The index contains entries only for those table rows that satisfy the predicate: see
<a class="xref" href="{first}" title="CREATE INDEX">CREATE INDEX</a>. One reason for using it
is to avoid indexing common values with <code class="literal">order_nr &lt; {number}</code>.
This reduces the size of the index, which will speed up those queries that do use it&hellip;</p>
<pre class="programlisting">CREATE INDEX orders_{number}_index ON orders (order_nr)
    WHERE billed is not true;</pre>
<ul><li><p>It is a win &amp; no loss (<a href="{second}">more</a>).</p></li></ul></div>
"""


def build_page() -> bytes:
    """Return a page of about 15 kB as documentation generators write them."""
    targets = ["https://wiki.example/Indexes", "mailto:docs@docs.example", "//cdn.example/?b&amp;c"]
    for number in range(LINKS - len(targets)):
        path = f"../14/runtime-config-{number}.html?lang=en" if number % 4 else f"ddl-{number}.html"
        targets.append(f"{path}#NOTES-{number}" if number % 3 else path)
    pairs = zip(targets[::2], targets[1::2], strict=True)
    sections = [
        SECTION.format(number=number, first=first, second=second)
        for number, (first, second) in enumerate(pairs)
    ]
    return "".join([HEAD, *sections, "</body></html>"]).encode()


BODY = build_page()
TEXT = decode(BODY, "utf-8").text
HREFS = HtmlTree(TEXT).hrefs
URLS = [url for href in HREFS if (url := resolve(href, PAGE)) is not None]


def with_gossamer() -> int:
    page = parse(BODY, url=PAGE, content_type=CONTENT_TYPE)
    return sum(1 for link in page.links if link.url is not None and SCOPE.judge(link.url))


def with_lxml_and_urllib() -> int:
    # A crawler meets new links on every page. The function is not documented, and not typed.
    urllib_parse.clear_cache()  # type: ignore[attr-defined]
    accepted = 0
    for element in lxml_html.document_fromstring(BODY).iter("a", "area"):
        href = element.get("href")
        if href is not None:
            url = urllib_parse.urldefrag(urllib_parse.urljoin(PAGE, href.strip())).url
            parts = urllib_parse.urlsplit(url)
            accepted += parts.scheme in {"http", "https"} and parts.netloc == "docs.example"
    return accepted


def cpu_us(work: Callable[[], object]) -> float:
    """Return the CPU time of one call in microseconds: the best of many."""
    best = float("inf")
    for _ in range(30):
        started = time.process_time()
        for _ in range(20):
            work()
        best = min(best, (time.process_time() - started) / 20)
    return best * 1e6


def main() -> None:
    assert len(HREFS) == LINKS
    assert with_gossamer() == with_lxml_and_urllib() == LINKS - 3
    rows = [
        ("decode", cpu_us(lambda: decode(BODY, "utf-8"))),
        ("tree to links", cpu_us(lambda: HtmlTree(TEXT))),
        ("resolve and normalise", cpu_us(lambda: [resolve(href, PAGE) for href in HREFS])),
        ("judge by scope", cpu_us(lambda: [SCOPE.judge(url) for url in URLS])),
        ("lxml alone", cpu_us(lambda: lxml_html.document_fromstring(BODY))),
    ]
    ours, theirs = cpu_us(with_gossamer), cpu_us(with_lxml_and_urllib)
    print(f"one page of {len(BODY):,} bytes with {LINKS} links")
    for name, cost in [*rows, ("all of it, Gossamer", ours), ("all of it, lxml + urllib", theirs)]:
        print(f"  {name:<26}{cost:>8,.0f} µs")
    print(
        f"page path: {ours:,.0f} µs CPU (limit {LIMIT_US}), "
        f"lxml + urllib {theirs:,.0f} µs, {theirs / ours:.1f} x"
    )


if __name__ == "__main__":
    main()
