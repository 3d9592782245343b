"""The cookies of a crawl, and the URL that is visited again because of one; on every store."""

import pytest
from tests.contract.driver import OpenStore, StoreDriver
from tests.contract.samples import link

from gossamer.frontier.contract import HostFeedback, Settled, Settlement, Task
from gossamer.frontier.memory import COOKIE_DOMAINS_NOTE
from gossamer.model import Outcome
from gossamer.policy.cookies import MAX_COOKIE_DOMAINS, MAX_COOKIES, Cookie, CookieChanges
from gossamer.stores.url_record import UrlState

DOMAIN = "a.test"


def cookie(name: str, value: str = "1") -> Cookie:
    return Cookie(name, f".a.test\tTRUE\t/\tFALSE\t0\t{name}\t{value}")


def put(driver: StoreDriver, *kept: Cookie, dropped: tuple[str, ...] = ()) -> None:
    driver.setup.run(driver.store.put_cookies(DOMAIN, CookieChanges(kept, dropped)))


def jar(driver: StoreDriver, domain: str = DOMAIN) -> list[Cookie]:
    return driver.setup.run(driver.store.cookies(domain))


def test_cookies_are_kept_replaced_and_dropped(open_store: OpenStore) -> None:
    driver = open_store()
    assert jar(driver) == []
    put(driver, cookie("a"), cookie("b", "é\xff"))
    put(driver, cookie("c"), cookie("a", "2"), dropped=("b", "unknown"))
    assert jar(driver) == [cookie("c"), cookie("a", "2")]
    assert jar(driver, "b.test") == []
    put(driver, dropped=("a", "c"))
    assert jar(driver) == []


def test_of_too_many_the_last_stay(open_store: OpenStore) -> None:
    driver = open_store()
    many = [cookie(f"c{number}") for number in range(MAX_COOKIES)]
    put(driver, *many)
    put(driver, cookie("new"), cookie("c0", "2"))
    assert jar(driver) == [*many[2:], cookie("new"), cookie("c0", "2")]


def test_they_survive_a_crash_and_a_restart(open_store: OpenStore) -> None:
    driver = open_store()
    driver.join(0)
    put(driver, cookie("a"))
    driver.commit()
    driver.crash()
    assert jar(driver) == [cookie("a")]
    driver.reopen()
    assert jar(driver) == [cookie("a")]


def redirect(driver: StoreDriver, task: Task, target: str, *, again: bool) -> Settled:
    settlement = Settlement(
        task=task,
        outcome=Outcome.REDIRECTED,
        links=[link(target)],
        redirect=True,
        again=again,
        feedback=HostFeedback(ended=driver.now),
    )
    return driver.settle_as(settlement)


def lead_around(driver: StoreDriver, *, again: bool) -> Settled:
    """Redirect from one URL to another, and back."""
    redirect(driver, driver.take_one("a/wall"), "a/set", again=again)
    driver.now += 10
    settled = redirect(driver, driver.take_one("a/set"), "a/wall", again=again)
    driver.now += 10
    return settled


def test_what_had_redirected_is_visited_again_once(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/wall")
    settled = lead_around(driver, again=True)
    assert settled.new_links == [link("a/wall").key]
    task = driver.take_one("a/wall")
    assert (task.depth, task.hops, task.attempt) == (0, 0, 2)
    driver.keep(task, ["a/next"])
    driver.now += 10
    driver.keep(driver.take_one("a/next"))
    assert driver.ended_by() == "complete"
    assert driver.records()["a/wall"].outcome is Outcome.FETCHED
    assert driver.snapshot().outcomes == {"fetched": 2, "redirected": 1}
    driver.assert_counts_agree()


def test_a_loop_ends(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/wall")
    lead_around(driver, again=True)
    lead_around(driver, again=True)
    assert driver.take() == []
    assert driver.ended_by() == "complete"
    assert driver.snapshot().outcomes == {"redirected": 2}
    driver.assert_counts_agree()


@pytest.mark.parametrize("restart", ["crash", "reopen"])
def test_it_is_still_to_be_visited_after_a_restart(open_store: OpenStore, restart: str) -> None:
    driver = open_store()
    driver.add_seeds("a/wall")
    lead_around(driver, again=True)
    driver.commit()
    getattr(driver, restart)()
    driver.now += 10
    assert driver.take_one("a/wall").attempt == 2


def test_without_cookies_nothing_is_visited_again(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/wall")
    assert not lead_around(driver, again=False).new_links
    assert driver.take() == []


def test_a_page_is_not_visited_again(open_store: OpenStore) -> None:
    driver = open_store()
    driver.add_seeds("a/page", "a/set")
    task, *_ = driver.take()
    pages = {driver.name(task): task}
    driver.keep(pages["a/page"])
    driver.now += 10
    settled = redirect(driver, driver.take_one("a/set"), "a/page", again=True)
    assert not settled.new_links
    assert driver.state("a/page") is UrlState.DONE


def test_of_too_many_domains_no_more_are_kept(open_store: OpenStore) -> None:
    driver = open_store()
    put(driver, cookie("a"))
    counted = str(MAX_COOKIE_DOMAINS).encode()
    driver.setup.run(driver.store.put_metadata(COOKIE_DOMAINS_NOTE, counted))
    driver.setup.run(driver.store.put_cookies("b.test", CookieChanges([cookie("b")], ())))
    assert jar(driver, "b.test") == []
    put(driver, cookie("a", "2"))
    assert jar(driver) == [cookie("a", "2")]
    put(driver, dropped=("a",))
    driver.setup.run(driver.store.put_cookies("b.test", CookieChanges([cookie("b")], ())))
    assert jar(driver, "b.test") == [cookie("b")]
