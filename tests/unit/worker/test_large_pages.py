"""Large pages: the loop of a worker goes on while one is read."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from gossamer.content.page_parser import PageParser, ParsedPage, ParseRules, RawPage
from gossamer.content.similarity import main_content_sample
from gossamer.model import Outcome, Response, Url
from gossamer.stores.bodies import read_content
from gossamer.worker import fetched_page
from gossamer.worker.fetched_page import LARGE_BYTES, PageProcessor, stored_page

RULES = ParseRules(similarity=0.9)


@pytest.mark.req("D19")
@pytest.mark.parametrize("part", ["<p>some words to read, and others", "<a href=/p#>x</a>"])
def test_finding_11_a_large_page_does_not_hold_the_loop(part: str) -> None:
    html = "".join(part.replace("#", str(number)) for number in range(2_000_000 // len(part)))
    page = RawPage(Url("http://a.example/"), "text/html", html.encode())

    async def parse_page() -> tuple[ParsedPage, int]:
        turns, reading = (
            0,
            asyncio.create_task(
                PageProcessor(PageParser(RULES)).parse(page, with_template_hash=True)
            ),
        )
        while not reading.done():
            await asyncio.sleep(0.001)
            turns += 1
        return reading.result(), turns

    parsed, turns = asyncio.run(parse_page())
    assert turns > 3, "it would be one"
    assert parsed == PageParser(RULES).parse(page, with_template_hash=True)


@pytest.mark.req("D19")
def test_finding_11_a_large_page_is_compared_and_packed_in_the_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, threads = threading.get_ident(), list[int]()

    def noted(step: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            threads.append(threading.get_ident())
            return step(*arguments)

        return call

    monkeypatch.setattr(fetched_page, "main_content_sample", noted(main_content_sample))
    monkeypatch.setattr(fetched_page, "stored_page", noted(stored_page))
    words = "a sentence that says something, and goes on for a while, with number"
    small = "".join(f"<p>{words} {number}." for number in range(200)).encode()
    large = small * (LARGE_BYTES // len(small) + 1)

    async def read(body: bytes) -> tuple[bytes, bytes]:
        reader, url = PageProcessor(PageParser(RULES)), Url("http://a.example/")
        parsed = await reader.parse(RawPage(url, "text/html", body))
        response = Response(url=url, outcome=Outcome.FETCHED, body=body, started=0.0, ended=0.0)
        kept = await reader.stored(response, parsed, 0.0)
        return await reader.main_content_sample(body, "text/html"), read_content(
            kept.content
        ).body()

    for body in (small, large):
        assert asyncio.run(read(body)) == (main_content_sample(body, "text/html"), body)
    assert threads[:2] == [here, here]
    assert here not in threads[2:]
    assert len(threads) == 4
