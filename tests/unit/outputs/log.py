"""A log of results that a test writes itself."""

from collections.abc import AsyncIterator
from typing import cast

import msgspec

from gossamer.outputs.rows import PrecomputedRow, pack_row
from gossamer.stores.reader import CrawlReader
from gossamer.stores.url_record import Record, Result


class ScriptedLog:
    """Stands for the reader of a crawl, as far as outputs use it."""

    def __init__(self, fields: tuple[str, ...] = ("url", "depth")) -> None:
        """Begin with nothing; the rows of pages have these fields."""
        self.fields = fields
        self.all: list[Result] = []
        self.found: dict[int, int] = {}
        """The depths of the pages."""

    @property
    def reader(self) -> CrawlReader:
        return cast("CrawlReader", self)

    def add_page(self, depth: int = 0, row: bytes | None = None) -> int:
        """Settle a page; return its number."""
        number = len(self.all) + 1
        self.found[number] = depth
        known = {"url": f"http://a.test/{number}", "depth": depth}
        made = {name: known.get(name, "") for name in self.fields if name != "id"}
        self._add(number, None, row or msgspec.json.encode(made))
        return number

    def add_records(self, *records: object, source: str = "books") -> None:
        """Settle a page that a module has extracted records from."""
        number = len(self.all) + 1
        self.found[number] = 0
        found = tuple(Record(source, msgspec.json.encode(one)) for one in records)
        self._add(number, found, b'{"url":"http://a.test/"}')

    def _add(self, number: int, records: tuple[Record, ...] | None, row: bytes) -> None:
        self.all.append(
            Result(
                number=number,
                url_id=number,
                page_id=number,
                settled_at=float(number),
                records=records,
                row=self.carried(row),
            )
        )

    def carried(self, row: bytes) -> bytes:
        """Return what a result carries that has this row."""
        return pack_row(PrecomputedRow(self.fields, row))

    def lose(self, count: int) -> None:
        """Forget the last results, as a server that fails over."""
        del self.all[-count:]

    async def results(self, after: int, limit: int) -> list[Result]:
        return [one for one in self.all if one.number > after][:limit]

    async def last_page(self) -> int:
        return max(self.found, default=0)

    async def depths(self) -> AsyncIterator[tuple[int, int]]:
        for one in self.found.items():
            yield one
