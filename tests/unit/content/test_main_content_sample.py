"""What a page says itself is told from what stands around it."""

import time

import pytest

from gossamer.content.similarity import main_content_sample, main_content_text
from gossamer.model.names import estimated_similarity

SAID = " ".join(f"Here is sentence {n}, which says {n * 7}." for n in range(60))
MENU = " ".join(f'<li><a href="{n}.html">Chapter {n} <b>on</b> matters</a></li>' for n in range(40))


def page(said: str, menu: str = MENU) -> bytes:
    return (
        f"<html><body class=x><header>The site</header><nav><ul>{menu}</ul></nav>"
        f"<main><h1>Title</h1><p>{said}</p></main><footer>Imprint of the site</footer></body>"
    ).encode()


@pytest.mark.req("B8")
@pytest.mark.parametrize("times", [1, 60], ids=["small", "so large that its elements are renamed"])
def test_navigation_header_and_footer_are_left_out(times: int) -> None:
    own = main_content_text(page(SAID, MENU * times), "text/html")
    assert "Here is sentence 59, which says 413." in own
    for words in ("Chapter", "The site", "Imprint"):
        assert words not in own


@pytest.mark.req("B8")
def test_it_is_compared_whatever_surrounds_it() -> None:
    one, other = (main_content_sample(page(SAID, MENU * times), "text/html") for times in (1, 60))
    assert estimated_similarity(one, other) == 1.0
    different = main_content_sample(page(SAID.replace("sentence", "word")), "text/html")
    assert estimated_similarity(one, different) < 0.5


@pytest.mark.parametrize("body", [b"", b"\x00\x01", page("A few words."), b"<p>"])
def test_little_of_its_own_gives_no_sample(body: bytes) -> None:
    assert main_content_sample(body, "text/html") == b""


def test_a_text_is_its_own_content() -> None:
    assert main_content_text(SAID.encode(), "text/plain") == SAID


@pytest.mark.parametrize(
    "part",
    [
        "<div>some text, ",
        "<b>some text, ",
        "<table><tr><td>text, ",
        "<b><p>a",
        "<a title='x,'>b<p>",
    ],
)
def test_a_hostile_page_takes_no_longer(part: str) -> None:
    began = time.process_time()
    main_content_sample((part * 700_000).encode(), "text/html")
    assert time.process_time() - began < 2
