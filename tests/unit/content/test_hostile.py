"""Pages made to hurt: they end, in linear time and little memory, and never raise."""

import resource
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.content.links import MAX_LINK_BYTES, MAX_LINKS
from gossamer.content.markers import Markers
from gossamer.content.page_parser import PageParser, ParseRules, RawPage, parse
from gossamer.content.parser_limits import HARMLESS
from gossamer.model import Url

PAGE = Url("http://a.example/")


def numbered(template: str, count: int) -> str:
    return "".join(template.replace("#", str(number)) for number in range(count))


BOMBS: dict[str, Callable[[int], str]] = {
    "nested tags": lambda n: "<div>" * n,
    "nested links": lambda n: "<a href=x>" * n,
    "unclosed formatting, each different": lambda n: numbered("<p><font size=#>", n),
    "unclosed formatting before many paragraphs": lambda n: (
        "<p>" + numbered("<b id=#>", 500) + "<p>x" * n
    ),
    "one link with many attributes before many paragraphs": lambda n: (
        f"<p><a {numbered('a# ', n)}href=x>" + "<p>x" * n
    ),
    "misnested formatting": lambda n: "<b><i><p>" * n + "</b></i>" * n,
    "attributes for body": lambda n: numbered("<body a#=1>", n),
    "attributes for html": lambda n: numbered("<html a#=1>", n),
    "many attributes for html, again and again": lambda n: (
        f"<html {numbered('a# ', n)}>" + numbered("<html b#>", n)
    ),
    "many attributes": lambda n: f"<a {numbered('a#=1 ', n)}href=x>",
    "many equal attributes": lambda n: f"<a {'a=1 ' * n}href=x>",
    "one long attribute": lambda n: f"<a href='{'x' * n}'>",
    "one long tag name": lambda n: f"<{'x' * n}>",
    "nested tables": lambda n: "<table><tr><td>" * n,
    "text in tables": lambda n: "<table>" + "x<tr>" * n,
    "nested selects": lambda n: "<select><option>" * n,
    "nested templates": lambda n: "<template>" * n + "</template>" * n,
    "templates and text": lambda n: "<template>x</template>x" * n,
    "nested drawings": lambda n: "<svg>" * n + "</svg>" * n,
    "deep drawing, foreign end tags": lambda n: "<svg>" + "<g>" * n + "</x>" * n,
    "drawings with HTML": lambda n: "<svg><foreignObject>" * n + "</svg>" * n,
    "empty titles in drawings": lambda n: "<svg><title/>\n" * n,
    "formulas": lambda n: "<math><mi>" * n,
    "nested noscripts": lambda n: "<noscript>" * n,
    "noscripts": lambda n: "<noscript><a href=x></noscript>" * n,
    "noscripts with drawings": lambda n: "<noscript><svg><style/></noscript>" * n,
    "unclosed comment": lambda n: "<!--" * n,
    "dashes": lambda n: "<!-- " + "-" * n,
    "comments": lambda n: "<!-->" * n,
    "markers": lambda n: "<!-- CONTENT --><a href=x>" * n,
    "bogus comments": lambda n: "<?" * n,
    "less-than signs": lambda n: "<" * n,
    "unfinished tags": lambda n: "<a " * n,
    "unclosed quotes": lambda n: "<a href='" * n,
    "unclosed script": lambda n: "<script><!--<script>" * n,
    "almost closed title": lambda n: "<title></titl" * n,
    "references": lambda n: "&notanentity&amp&#x110000;" * n,
    "one long reference": lambda n: "&#" + "9" * n,
    "NULs": lambda n: "\0" * n,
    "NULs in tags": lambda n: "<p><a\0 href\0=x\0>" * n,
    "bases": lambda n: "<base href=javascript:x>" * n,
    "metas": lambda n: "<meta name=robots content=x>" * n,
    "refreshes": lambda n: "<meta http-equiv=refresh content='1'>" * n,
    "long refresh": lambda n: f"<meta http-equiv=refresh content='{'1' * n}{' ' * n}'>",
    "equal links": lambda n: "<a href='/x#y'>" * n,
    "different links": lambda n: numbered("<a href=#>", n),
    "unusable links": lambda n: numbered("<a href='http://[#'>", n),
    "white space": lambda n: " \n" * n,
}


def run(html: str, markers: Markers | None = None) -> None:
    rules = ParseRules(markers, with_text=True)
    page = parse(html.encode(), url=PAGE, content_type="text/html", rules=rules)
    assert len(page.links) <= 10 * MAX_LINKS
    assert len(page.text) <= len(html) + 1


def cpu_seconds(html: str) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        run(html)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.req("D19")
@pytest.mark.parametrize("name", BOMBS)
def test_twice_the_page_takes_about_twice_the_time(name: str) -> None:
    count = 100_000 * 100 // len(BOMBS[name](100))

    def is_linear() -> bool:
        once, twice = cpu_seconds(BOMBS[name](count)), cpu_seconds(BOMBS[name](2 * count))
        # What is quadratic would take four times as long.
        return twice < 3.3 * once + 0.01 and twice < 1

    # Whoever shares the processor may disturb one try.
    assert any(is_linear() for _ in range(4))


def largest_unlimited(bomb: Callable[[int], str]) -> str:
    """Return the largest bomb of its kind that is taken for harmless."""
    count = 1
    while is_harmless(bomb(2 * count)) and len(bomb(count)) < 500_000:
        count *= 2
    while is_harmless(bomb(count + count // 20 + 1)) and len(bomb(count)) < 500_000:
        count += count // 20 + 1
    return bomb(count)


def is_harmless(html: str) -> bool:
    return html.count("<") * len(html) <= HARMLESS


def defuse_all() -> None:
    """Parse every bomb, just below and far above the size from which on pages are limited."""
    megabytes = 600
    for resource_kind, limit in [
        (resource.RLIMIT_AS, megabytes * 1_000_000),
        (resource.RLIMIT_STACK, 1_000_000),
    ]:
        resource.setrlimit(resource_kind, (limit, limit))
    for name, bomb in BOMBS.items():
        print(name, flush=True)
        run(largest_unlimited(bomb))
        run(bomb(500_000 * 100 // len(bomb(100)) + 1))
    print("survived")


@pytest.mark.req("D19")
def test_no_bomb_takes_the_stack_or_the_memory() -> None:
    """In a process of its own: a crash must be a failed test, not the end of the tests."""
    done = subprocess.run(
        [sys.executable, __file__], capture_output=True, text=True, timeout=55, check=False
    )
    assert done.stdout.endswith("survived\n"), (done.stdout[-100:], done.stderr[-1000:])


NAMES = "svg math title script style template noscript foreignObject p b mi"
PIECES = [
    *"<>'\"=/!-&;\0 \n",
    *["a", "href", "x", "é", "\ufffe", "<a href=x>", "<!--", "-->", "<?", "]]>"],
    *[f"<{name}>" for name in NAMES.split()],
    *[f"</{name}>" for name in NAMES.split()],
    *["<svg><title/>", "<!-- CONTENT -->", "<base href="],
]
LABELS = [None, "", "text/html", "text/plain", "text/html; charset=utf-16", "text/html;charset=gbk"]


@pytest.mark.req("D9", "D19")
@settings(max_examples=300, deadline=None)
@example(b"", "text/html", None)
@given(
    st.binary(max_size=500)
    | st.lists(st.sampled_from(PIECES), max_size=60).map(lambda pieces: "".join(pieces).encode()),
    st.sampled_from(LABELS),
    st.sampled_from([None, Markers.parse("<!-- CONTENT -->")]),
)
def test_whatever_the_bytes_a_page_comes_out(
    body: bytes, content_type: str | None, markers: Markers | None
) -> None:
    rules = ParseRules(markers, with_text=True)
    page = parse(body, url=PAGE, content_type=content_type, rules=rules)
    assert all(link.url is None or link.url.startswith("http") for link in page.links)
    assert page.text == " ".join(page.text.split())
    assert not (page.links and page.markers_missing)
    assert parse(body, url=PAGE, content_type=content_type, rules=rules) == page


if __name__ == "__main__":
    defuse_all()


@pytest.mark.req("D19")
def test_finding_2_a_long_base_does_not_make_much_of_short_links() -> None:
    """22 kB of links made 80 MB of URLs."""
    base = f"<base href='/{'x' * 8000}/'>"
    page = parse(
        (base + numbered("<a href=#>", 10_000)).encode(), url=PAGE, content_type="text/html"
    )
    size = sum(len(link.url or "") for link in page.links)
    assert MAX_LINK_BYTES <= size < MAX_LINK_BYTES + 10_000
    assert len(page.links) + page.links_left_out == 10_000


def test_finding_2_such_urls_are_not_remembered() -> None:
    parser = PageParser(ParseRules())
    for number in range(20):
        page = f"<base href='/{'x' * 8000}{number}/'>" + numbered("<a href=#>", 200)
        parser.parse(RawPage(PAGE, "text/html", page.encode()))
    assert not parser._resolved._folders
