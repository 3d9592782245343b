"""What a module returns or yields becomes records, or costs its own records and no more."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from gossamer.model import Outcome, Page, Url
from gossamer.modules.contract import Delivered, FinishedUrl, FollowedLink
from gossamer.modules.extraction import MAX_BYTES, MAX_RECORDS
from gossamer.modules.loading import as_module
from gossamer.modules.module_stats import ModuleReport
from gossamer.modules.runner import ModuleRunner

MakePage = Callable[..., Page]

pytestmark = pytest.mark.req("D12")


@dataclass
class Book:
    title: str
    price: Decimal = Decimal("9.50")


class Film(msgspec.Struct):
    title: str
    seen: datetime = datetime(2024, 5, 1, tzinfo=UTC)


class Row(msgspec.Struct, array_like=True):
    title: str


class PydanticLike:
    """As pydantic's models look from outside."""

    def __init__(self, title: object) -> None:
        self.title = title

    def model_dump(self, *, mode: str) -> dict[str, object]:
        assert mode == "json"
        return {"title": self.title}


def deliver(
    *things: object, page: Page, links: tuple[str, ...] = ()
) -> tuple[Delivered, list[ModuleReport]]:
    async def run() -> tuple[Delivered, list[ModuleReport]]:
        runner = ModuleRunner([as_module(one) for one in things], time_limit_s=5.0)
        try:
            given = [FollowedLink(Url(one)) for one in links]
            return await runner.deliver(page, given), runner.report()
        finally:
            await runner.close()

    return asyncio.run(run())


def yields(_page: Page) -> Iterator[object]:
    yield {"n": 1}
    yield Book("Emma")


async def awaits(_page: Page) -> list[object]:
    await asyncio.sleep(0)
    return [Film("M"), {"n": None}]


async def yields_later(_page: Page) -> AsyncIterator[object]:
    yield {"n": 1}
    await asyncio.sleep(0)
    yield PydanticLike("Alien")


class QuickScraper:
    on_loop = True

    def page(self, _page: Page) -> object:
        return MappingProxyType({"path": Path("/a/b"), "in": {"one": PydanticLike(1)}})


@pytest.mark.parametrize(
    ("module", "records"),
    [
        (yields, [b'{"n":1}', b'{"title":"Emma","price":"9.50"}']),
        (awaits, [b'{"title":"M","seen":"2024-05-01T00:00:00Z"}', b'{"n":null}']),
        (yields_later, [b'{"n":1}', b'{"title":"Alien"}']),
        (QuickScraper(), [b'{"path":"/a/b","in":{"one":{"title":1}}}']),
        (lambda _: None, []),
        (lambda _: [], []),
    ],
)
def test_records_come_in_many_forms(
    make_page: MakePage, module: object, records: list[bytes]
) -> None:
    delivered, (report,) = deliver(module, page=make_page())
    assert [one.data for one in delivered.records] == records
    assert {one.source for one in delivered.records} <= {report.name}
    assert (report.pages, report.records, report.errors) == (1, len(records), 0)
    assert delivered.links is None, "nobody has chosen"


def many(page: Page) -> Iterator[object]:
    for number in range(MAX_RECORDS + 1):
        yield {"n": number, "of": page.id}


async def spoilt(_page: Page) -> AsyncIterator[object]:
    yield {"n": 1}
    yield "a title"


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (lambda _: "a title", "it returned a str: a record is a mapping, a dataclass"),
        (lambda _: 7, "it returned an int"),
        (lambda _: [{"n": 1}, None], "it gave a NoneType as a record"),
        (lambda _: [{"n": 1}, [{"n": 2}]], "it gave a list as a record"),
        (spoilt, "it gave a str as a record"),
        (lambda _: {"n": 1, "at": object()}, "the field 'at' of a record cannot be stored"),
        (lambda _: Book("x", object()), "the field 'price' of a record"),  # type: ignore[arg-type]
        (lambda _: {"n": "\ud800"}, "the field 'n' of a record"),
        (lambda _: Row("x"), "a Row is no JSON object"),
        (many, f"more than {MAX_RECORDS:,} records for one page"),
        (lambda _: {"n": "x" * MAX_BYTES}, "take more than 8 MB"),
    ],
)
def test_what_is_no_record_costs_the_records_of_its_page_and_is_told(
    make_page: MakePage, module: object, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    delivered, (report, other) = deliver(module, yields, page=make_page())
    assert len(delivered.records) == other.records == 2, "the other module's are there"
    assert (report.pages, report.records, report.errors, report.failed_pages) == (0, 0, 1, 1)
    assert report.last_error is not None
    assert words in report.last_error
    assert "failed at page 1 (http://a.test/1)" in caplog.text


def test_a_generator_that_fails_in_the_middle_leaves_no_record(make_page: MakePage) -> None:
    def breaks(_page: Page) -> Iterator[object]:
        yield {"n": 1}
        raise ValueError("no more")

    delivered, (report,) = deliver(breaks, page=make_page())
    assert delivered.records == []
    assert (report.errors, report.failed_pages, report.records) == (1, 1, 0)


class Chooses:
    def __init__(self, choose: Callable[..., Any]) -> None:
        self._choose = choose

    def links(self, page: Page, links: tuple[FollowedLink, ...]) -> object:
        return self._choose(page, links)


def test_modules_choose_one_after_another_which_links_are_followed(make_page: MakePage) -> None:
    def first(page: Page, links: tuple[FollowedLink, ...]) -> Iterator[object]:
        yield from (one for one in links if not one.url.endswith("/no"))
        yield "../more#part"
        yield FollowedLink(Url("HTTP://B.test"), 3)

    def second(_page: Page, links: tuple[FollowedLink, ...]) -> object:
        return [*links, links[0].url] if len(links) == 3 else []

    links = ("http://a.test/yes", "http://a.test/no")
    delivered, reports = deliver(
        Chooses(first), Chooses(second), Chooses(lambda *_: None), page=make_page(), links=links
    )
    assert delivered.links is not None
    assert [(one.url, one.score) for one in delivered.links] == [
        ("http://a.test/yes", None),
        ("http://a.test/more", None),
        ("http://b.test/", 3),
        ("http://a.test/yes", None),
    ]
    assert [one.errors for one in reports] == [0, 0, 0]


@pytest.mark.parametrize(
    ("choose", "words"),
    [
        (lambda *_: 1 / 0, "division by zero"),
        (lambda *_: "http://a.test/", "links returned a str instead of the links to follow"),
        (lambda *_: [7], "links returned an int as a link"),
        (lambda *_: ["mailto:a@b"], "'mailto:a@b', which is not a usable URL"),
        (lambda *_: [FollowedLink(Url("http://a.test/"), 101)], "scores go from 0 to 100"),
        (lambda *_: [FollowedLink(Url("http://a.test/"), float("nan"))], "scores go from 0 to"),
    ],
)
def test_a_hook_that_fails_has_no_say(
    make_page: MakePage, choose: Callable[..., Any], words: str
) -> None:
    links = ("http://a.test/1", "http://a.test/2")
    delivered, (report,) = deliver(Chooses(choose), page=make_page(), links=links)
    assert [one.url for one in delivered.links or ()] == [*links]
    assert report.errors == 1
    assert words in (report.last_error or "")
    assert "choosing.py" not in (report.last_error or ""), "a line of ours helps nobody"


def test_ends_are_told_and_may_give_records() -> None:
    class Checker:
        def finished(self, result: FinishedUrl) -> object:
            if result.outcome is Outcome.GONE:
                raise ValueError("what is gone is gone")
            return None if result.status == 200 else {"broken": result.url}

    async def run() -> tuple[list[bytes], ModuleReport]:
        runner = ModuleRunner([as_module(Checker())])
        found = []
        for outcome, status in (
            (Outcome.FETCHED, 200),
            (Outcome.NOT_FOUND, 404),
            (Outcome.GONE, 0),
        ):
            end = FinishedUrl(url=Url(f"http://a.test/{status}"), outcome=outcome, depth=1)
            end = msgspec.structs.replace(end, status=status)
            found += [one.data for one in (await runner.finished(end)).records]
        await runner.close()
        return found, runner.report()[0]

    records, report = asyncio.run(run())
    assert records == [b'{"broken":"http://a.test/404"}']
    assert (report.ends, report.records, report.errors, report.pages) == (2, 1, 1, 0)
    assert report.failure is None
