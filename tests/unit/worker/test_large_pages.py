"""Large pages: the loop of a worker goes on while one is read."""

import asyncio

import pytest

from gossamer.content import Analyser, Analysis, AnalysisRules, RawPage
from gossamer.model import Url
from gossamer.worker.large_pages import LargePages

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
