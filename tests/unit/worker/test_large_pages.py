"""Large pages: the loop of a worker goes on while one is read."""

import asyncio
import threading

import pytest

from gossamer.content import Analyser, Analysis, AnalysisRules, RawPage, own_sample
from gossamer.model import Url
from gossamer.worker import large_pages
from gossamer.worker.large_pages import LARGE_BYTES, LargePages

RULES = AnalysisRules(similarity=0.9)


@pytest.mark.req("D19")
@pytest.mark.parametrize("part", ["<p>some words to read, and others", "<a href=/p#>x</a>"])
def test_finding_11_a_large_page_does_not_hold_the_loop(part: str) -> None:
    html = "".join(part.replace("#", str(number)) for number in range(2_000_000 // len(part)))
    page = RawPage(Url("http://a.example/"), "text/html", html.encode())

    async def analyse() -> tuple[Analysis, int]:
        turns, reading = 0, asyncio.create_task(LargePages(RULES).analyse(page, with_wording=True))
        while not reading.done():
            await asyncio.sleep(0.001)
            turns += 1
        return reading.result(), turns

    analysis, turns = asyncio.run(analyse())
    assert turns > 3, "it would be one"
    assert analysis == Analyser(RULES).analyse(page, with_wording=True)


@pytest.mark.req("D19")
def test_finding_11_the_own_content_of_a_large_page_is_read_in_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, threads = threading.get_ident(), []

    def noted(body: bytes, content_type: str | None) -> bytes:
        threads.append(threading.get_ident())
        return own_sample(body, content_type)

    monkeypatch.setattr(large_pages, "own_sample", noted)
    words = "a sentence that says something, and goes on for a while, with number"
    small = "".join(f"<p>{words} {number}." for number in range(200)).encode()
    large = small * (LARGE_BYTES // len(small) + 1)
    for body in (small, large):
        found = asyncio.run(LargePages(RULES).own_sample(body, "text/html"))
        assert found == own_sample(body, "text/html") != b""
    assert threads[0] == here != threads[1]
