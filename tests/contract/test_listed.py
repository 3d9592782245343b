"""URLs that sitemaps list, and what is given with links: both kept with the URL, in every store."""

import msgspec
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.samples import link

from gossamer.frontier.contract import MAX_SITEMAPS, Link, Listing, Task
from gossamer.model import Outcome


def sitemap(name: str, location: str = "a.test") -> Link:
    return msgspec.structs.replace(link(name), score=0.0, listing=Listing(sitemap_of=location))


def add(driver: StoreDriver, *seeds: Link, depth: int = 0) -> int:
    return driver.setup.run(driver.store.add_seeds(list(seeds), driver.now, depth))


def list_urls(driver: StoreDriver, task: Task, *links: Link) -> int | None:
    return driver.setup.run(driver.store.add_listed(task, list(links), driver.now))


def test_a_sitemap_is_a_task_that_says_so(open_store: OpenStore) -> None:
    driver = open_store()
    assert add(driver, sitemap("a/map.xml")) == 1
    assert add(driver, sitemap("a/map.xml")) == 0
    assert add(driver, link("b/")) == 1
    found = {task.url: task.sitemap_of for task in driver.take()}
    assert found == {"http://a.test/map.xml": "a.test", "http://b.test/": ""}


def test_what_a_sitemap_lists_is_found_one_link_behind_it(open_store: OpenStore) -> None:
    driver = open_store()
    add(driver, sitemap("a/map.xml"))
    task = driver.take_one("a/map.xml")
    dated = msgspec.structs.replace(link("a/new"), listing=Listing(86_400.0, 1.0))
    assert list_urls(driver, task, dated, link("a/old")) == 2
    assert list_urls(driver, task, dated, link("a/old")) == 0
    driver.settle(task, Outcome.SITEMAP)
    records = driver.records()
    assert {name: one.depth for name, one in records.items()} == {
        "a/map.xml": 0,
        "a/new": 1,
        "a/old": 1,
    }
    assert records["a/new"].parent == records["a/map.xml"].id
    said = {one.url: (one.lastmod, one.priority, one.score) for one in driver.candidates()}
    assert said == {
        "http://a.test/new": (86_400.0, 1.0, None),
        "http://a.test/old": (None, None, None),
    }
    snapshot = driver.snapshot()
    assert (snapshot.listed, snapshot.outcomes) == (2, {"sitemap": 1})


def test_sitemaps_of_an_index_lie_where_it_does_and_are_not_counted_as_urls(
    open_store: OpenStore,
) -> None:
    driver = open_store()
    add(driver, sitemap("a/index.xml"))
    task = driver.take_one("a/index.xml")
    assert list_urls(driver, task, sitemap("a/1.xml"), sitemap("a/2.xml")) == 2
    driver.settle(task, Outcome.SITEMAP)
    driver.now += 10
    (one,) = driver.take(limit=1)
    assert (one.depth, one.hops, one.sitemap_of) == (0, 1, "a.test")
    assert driver.snapshot().listed == 0


def test_a_host_has_no_more_sitemaps_than_the_limit(open_store: OpenStore) -> None:
    driver = open_store()
    add(driver, sitemap("a/index.xml"))
    task = driver.take_one("a/index.xml")
    many = [sitemap(f"a/{number}.xml") for number in range(MAX_SITEMAPS + 10)]
    assert list_urls(driver, task, *many) == MAX_SITEMAPS - 1
    assert list_urls(driver, task, *many) == 0
    assert list_urls(driver, task, sitemap("b/one.xml", "b.test")) == 1


def test_a_lost_lease_adds_nothing(open_store: OpenStore) -> None:
    driver = open_store()
    add(driver, sitemap("a/map.xml"))
    task = driver.take_one("a/map.xml")
    driver.settle(task, Outcome.SITEMAP)
    assert list_urls(driver, task, link("a/late")) is None
    assert set(driver.records()) == {"a/map.xml"}


def test_a_given_score_waits_with_the_url(open_store: OpenStore) -> None:
    driver = open_store()
    add(driver, msgspec.structs.replace(link("a/"), score=80.0), link("b/"))
    assert {one.url: one.score for one in driver.candidates()} == {
        "http://a.test/": 80.0,
        "http://b.test/": None,
    }


def test_a_seed_may_begin_at_a_depth(open_store: OpenStore) -> None:
    driver = open_store()
    add(driver, link("a/"), depth=2)
    assert driver.records()["a/"].depth == 2
    add(driver, link("a/"))
    assert driver.records()["a/"].depth == 0


def test_there_is_room_until_the_url_queue_is_full(open_store: OpenStore) -> None:
    driver = open_store(url_queue=2)
    assert driver.setup.run(driver.store.has_room())
    add(driver, link("a/1"), link("a/2"))
    assert not driver.setup.run(driver.store.has_room())
    driver.score()
    assert driver.setup.run(driver.store.has_room())
