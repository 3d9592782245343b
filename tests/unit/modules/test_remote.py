"""Modules of the coordinator, as workers in other processes use them."""

import asyncio
import gzip
from collections.abc import Callable, Sequence

import msgspec
import pytest

from gossamer.content.lazy_document import LazyDocument
from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.model import Exchange, Headers, Outcome, Page, Url
from gossamer.model.errors import CrawlError
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink, Hooks, Module
from gossamer.modules.loading import as_module
from gossamer.modules.remote import (
    CoordinatorModules,
    PageMessage,
    ServedModules,
    WorkerModules,
)
from gossamer.modules.runner import ModuleRunner

MakePage = Callable[..., Page]


def travelled(page: Page) -> Page:
    """Return the page as it is at the other end of a channel."""
    message = msgspec.msgpack.encode(PageMessage.of(page))
    return msgspec.msgpack.decode(message, type=PageMessage).page()


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/html; charset=koi8-r", "<title>x</title><p>Привет</p>".encode("koi8-r")),
        ("text/html", '<meta charset="utf-8"><p>Grüße &amp; mehr</p>'.encode()),
        ("", b"<p>without a type</p><script>hidden</script>"),
        ("text/plain", b"a < b\x00\xff"),
        ("text/html", b""),
    ],
)
def test_a_page_that_travels_has_the_same_fields_and_text(
    make_page: MakePage, content_type: str, body: bytes
) -> None:
    url, head = Url("http://a.test/ü?q=1"), b"HTTP/1.1 203 X\r\nX-A: \xff\r\n\r\n"
    page = make_page(
        7,
        url=url,
        depth=3,
        status=203,
        content_type=content_type,
        kind=kind_of(parse_content_type(content_type or None), body),
        encoding="koi8-r",
        title="t\u2028",
        content_usage="train-ai=n",
        body=body,
        links=(Url("http://b.test/"), Url("http://c.test/")),
        fetched_at=1234.5,
        headers=Headers.read(head),
        found_on=Url("http://a.test/"),
        redirected_from=(Url("http://a.test/old"),),
        exchange=Exchange(b"GET / HTTP/1.1\r\n\r\n", head, "::1"),
        coded_body=gzip.compress(body),
        language="ru",
        document=LazyDocument(body, url, content_type or None),
    )
    arrived = travelled(page)
    for name in set(Page.__struct_fields__) - {"document"}:
        assert getattr(arrived, name) == getattr(page, name), name
    assert arrived.text == page.text


def test_a_page_has_no_field_that_does_not_travel() -> None:
    assert set(Page.__struct_fields__) - set(PageMessage.__struct_fields__) == {
        "document",
        "headers",
    }


class Elsewhere:
    """The modules of a coordinator."""

    def __init__(self, error: CrawlError | None = None, *, waits: bool = False) -> None:
        self.seen: list[object] = []
        self.was_cancelled = False
        self._error, self._waits = error, waits

    async def deliver(self, page: PageMessage, links: Sequence[FollowedLink]) -> Delivered:
        self.seen.append(page.id)
        try:
            await asyncio.sleep(60 if self._waits else 0)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        if self._error is not None:
            raise self._error
        return Delivered()

    async def finished(self, end: FinishedUrl) -> Delivered:
        return Delivered()

    async def depth_changed(self, page_id: int, depth: int) -> None:
        self.seen.append((page_id, depth))


def as_others(modules: Elsewhere) -> CoordinatorModules:
    return CoordinatorModules(modules, Hooks(pages=True, links=True, ends=True, depths=True))


def own(seen: list[object], error: Exception | None = None) -> ModuleRunner:
    def page(one: Page) -> None:
        seen.append(one.id)
        if error is not None:
            raise error

    return ModuleRunner(
        [
            Module(
                name="own",
                page=page,
                depth_changed=lambda *told: seen.append(told),
                on_loop=True,
            )
        ]
    )


def test_a_worker_shows_a_page_to_its_own_modules_and_to_those_elsewhere(
    make_page: MakePage,
) -> None:
    seen: list[object] = []
    elsewhere = Elsewhere()

    async def program() -> None:
        modules = WorkerModules(own(seen), as_others(elsewhere))
        await modules.deliver(make_page(4))
        await modules.depth_changed(4, 1)

    asyncio.run(program())
    assert seen == elsewhere.seen == [4, (4, 1)]


def test_a_module_elsewhere_ends_the_crawl_on_purpose(make_page: MakePage) -> None:
    with pytest.raises(CrawlError, match="the disk is full"):
        asyncio.run(
            WorkerModules(own([]), as_others(Elsewhere(CrawlError("the disk is full")))).deliver(
                make_page()
            )
        )


def test_if_its_own_module_ends_the_crawl_nobody_waits_for_those_elsewhere(
    make_page: MakePage,
) -> None:
    async def program() -> None:
        elsewhere = Elsewhere(waits=True)

        async def slowly(_page: Page) -> None:
            await asyncio.sleep(0.01)
            raise CrawlError("the disk is full")

        runner = ModuleRunner([Module(name="own", page=slowly, on_loop=True)])
        async with asyncio.timeout(5):
            with pytest.raises(CrawlError, match="the disk is full"):
                await WorkerModules(runner, as_others(elsewhere)).deliver(make_page())
            await asyncio.sleep(0)
        assert elsewhere.was_cancelled

    asyncio.run(program())


def test_records_of_both_are_kept_and_links_are_chosen_here_and_then_there(
    make_page: MakePage,
) -> None:
    """Only those hooks are called elsewhere that there are."""
    links = [FollowedLink(Url(f"http://a.test/{number}")) for number in range(4)]

    def scrape(name: str) -> ModuleRunner:
        class Chooser:
            on_loop = True

            def page(self, page: Page) -> dict[str, object]:
                return {name: page.id}

            def links(self, page: Page, links: Sequence[FollowedLink]) -> Sequence[FollowedLink]:
                return links[1:]

            def finished(self, result: FinishedUrl) -> dict[str, object]:
                return {f"{name} end": result.depth}

        return ModuleRunner([as_module(Chooser())])

    async def data(modules: WorkerModules) -> tuple[list[bytes], list[str], list[bytes]]:
        delivered = await modules.deliver(make_page(4), links)
        ended = await modules.finished(FinishedUrl(url=links[0].url, outcome=Outcome.GONE, depth=2))
        left = [one.url[-1] for one in delivered.links or ()]
        return [one.data for one in delivered.records], left, [one.data for one in ended.records]

    async def program() -> None:
        there = scrape("there")
        everything = CoordinatorModules(ServedModules(there), there.hooks)
        assert await data(WorkerModules(scrape("here"), everything)) == (
            [b'{"here":4}', b'{"there":4}'],
            ["2", "3"],
            [b'{"here end":2}', b'{"there end":2}'],
        )
        ends = CoordinatorModules(ServedModules(there), Hooks(ends=True))
        modules = WorkerModules(ModuleRunner([]), ends)
        assert modules.hooks == Hooks(ends=True)
        assert await data(modules) == ([], [], [b'{"there end":2}'])

    asyncio.run(program())
