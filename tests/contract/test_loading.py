"""A crawl is loaded from blocks, and from its rows where a block is missing or of no use."""

from collections.abc import Callable

import pytest
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.loading import everything
from tests.contract.stores import EmbeddedSetup

from gossamer.frontier.memory import CrawlMemory
from gossamer.stores import columns
from gossamer.stores.rows import Changes, KnownUrl, Rows

pytestmark = pytest.mark.req("B1", "B3")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "BLOCK", 4)


def crawl(driver: StoreDriver) -> None:
    """Find 21 URLs, and visit 6 of them."""
    driver.add_seeds("a/")
    for visit in range(6):
        (task,) = driver.take(limit=1)
        driver.keep(task, [] if visit else [f"a/{number}" for number in range(20)])
        driver.now += 10
    driver.score()
    driver.commit()


def rows_of(driver: StoreDriver) -> Rows:
    assert isinstance(driver.setup, EmbeddedSetup)
    return driver.setup.memory.rows


def shortened(packed: bytes) -> bytes:
    return packed[:-1]


def changed(packed: bytes) -> bytes:
    return packed[:-1] + bytes([packed[-1] ^ 1])


def of_another_version(packed: bytes) -> bytes:
    return bytes([columns.VERSION + 1]) + packed[1:]


def of_another_length(packed: bytes) -> bytes:
    """Return a block that is in order, but not of all that are there."""
    types = columns.URL_COLUMNS if packed[1] > 3 else columns.PAGE_COLUMNS
    values = columns.unpack_block(packed, types)
    assert values is not None
    return columns.pack_block([column[:-1] for column in values])


@pytest.mark.parametrize(
    "damage",
    [shortened, changed, of_another_version, of_another_length, bytes.upper, lambda _: b"\x01"],
)
def test_blocks_that_are_of_no_use_are_read_from_rows(
    open_store: OpenStore, damage: Callable[[bytes], bytes]
) -> None:
    driver = open_store(delay_s=0.0)
    crawl(driver)
    rows, changes = rows_of(driver), Changes()
    blocks = dict(rows.url_blocks())
    assert [*blocks] == [0, 1, 2, 3, 4, 5]
    changes.url_blocks = {number: damage(blocks[number]) for number in (0, 2, 3, 5)}
    if damage is not of_another_length:  # of pages those that are missing at the end are gaps
        changes.page_blocks = {0: damage(dict(rows.page_blocks())[0])}
    if (finish := rows.write(changes)) is not None:
        finish()
    driver.reopen()  # which compares what is loaded
    while tasks := driver.take():
        for task in tasks:
            driver.miss(task)
        driver.now += 10
    driver.commit()
    driver.reopen()
    driver.assert_counts_agree()


def test_what_is_in_blocks_is_not_read_from_rows(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = open_store(delay_s=0.0)
    crawl(driver)
    rows = rows_of(driver)
    before = everything(CrawlMemory(rows, with_times=False))
    assert before["page count"] == 6

    def fail(*_: object) -> list[KnownUrl]:
        raise AssertionError("rows are read")

    monkeypatch.setattr(rows, "known_urls", fail)
    assert everything(CrawlMemory(rows, with_times=False)) == before


def test_blocks_without_times_are_of_no_use_where_times_matter(open_store: OpenStore) -> None:
    driver = open_store(delay_s=0.0)
    crawl(driver)
    stored = columns.unpack_block(dict(rows_of(driver).url_blocks())[0], columns.URL_COLUMNS)
    assert stored is not None
    assert len(stored) == len(columns.URL_COLUMNS) - 1
    times = CrawlMemory(rows_of(driver), with_times=True).urls.finished_at
    assert times is not None
    assert sum(at < float("inf") for at in times[1:]) == 6
