"""One crawl, from its options to its summary."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gossamer.config import load
from gossamer.coordinator.crawl import Crawl
from gossamer.coordinator.plan import Plan
from gossamer.coordinator.summary import Summary
from gossamer.model import Event, EventKind, Level, Snapshot
from gossamer.model.errors import UsageError
from gossamer.stores.crawl_views import HostView, WorkerView
from gossamer.testing import Reply, Web


class NotingObserver:
    """An observer that writes everything down."""

    def __init__(self, *, wants_events: bool = False) -> None:
        self.wants_events = wants_events
        self.events: list[Event] = []
        self.ticks: list[tuple[Snapshot, Sequence[HostView]]] = []

    def event(self, event: Event) -> None:
        self.events.append(event)

    def tick(
        self, snapshot: Snapshot, hosts: Sequence[HostView], workers: Sequence[WorkerView] = ()
    ) -> None:
        self.ticks.append((snapshot, hosts))

    def say(self, level: Level, message: str, **fields: str | int | float) -> None:
        pass

    def close(self, summary: Summary) -> None:
        pass


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as running:
        running.site("a.test").page("/", links=["/1", "/2", "http://b.test/"])
        running.site("a.test").page("/1")
        running.site("a.test").page("/2")
        running.site("b.test").reply("/", Reply(body="slow", delay_s=0.05))
        yield running


def crawl(web: Web, notes: NotingObserver, **options: Any) -> Crawl:  # noqa: ANN401 -- options of a crawl
    given = {
        "seeds": ("http://a.test/",),
        "delay": "0s",
        "store": "memory:",
        "scope": "any",
        "allow_network": ("127.0.0.1",),
        **options,
    }
    return Crawl(Plan(load(given, {}).options), [], notes, dns=web.dns)


def test_the_summary_tells_what_there_is_to_tell(web: Web, tmp_path: Path) -> None:
    summary = asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:").run())
    snapshot = summary.snapshot
    assert summary.ended_by == snapshot.ended_by == "complete"
    assert (snapshot.pages, snapshot.finished, snapshot.hosts) == (4, 4, 2)
    assert snapshot.elapsed_s > 0
    assert snapshot.pages_per_s == pytest.approx(4 / snapshot.elapsed_s)
    assert summary.directory == str(tmp_path)
    assert [host.host for host in summary.slowest_hosts] == ["b.test", "a.test"]
    assert summary.slowest_hosts[0].mean_ms >= 20
    assert summary.was_over is False


def test_a_crawl_that_was_over_says_so(web: Web, tmp_path: Path) -> None:
    asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:").run())
    again = asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:").run())
    assert (again.was_over, again.ended_by, again.snapshot.pages) == (True, "complete", 4)


def test_the_rate_is_that_of_this_run(web: Web, tmp_path: Path) -> None:
    asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:", max_pages=3).run())
    rest = asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:").run())
    assert rest.snapshot.pages == 4
    assert rest.snapshot.pages_per_s == pytest.approx(1 / rest.snapshot.elapsed_s)


@pytest.mark.parametrize("wants_events", [True, False])
def test_events_are_for_those_who_want_them(web: Web, *, wants_events: bool) -> None:
    notes = NotingObserver(wants_events=wants_events)
    asyncio.run(crawl(web, notes).run())
    fetched = [event.url for event in notes.events if event.kind is EventKind.FETCHED]
    assert len(fetched) == (4 if wants_events else 0)


def test_the_state_is_shown_about_once_a_second(web: Web) -> None:
    web.site("b.test").reply("/", Reply(body="very slow", delay_s=1.3))
    notes = NotingObserver()
    summary = asyncio.run(crawl(web, notes).run())
    assert 1 <= len(notes.ticks) <= summary.snapshot.elapsed_s
    snapshot, hosts = notes.ticks[-1]
    assert (snapshot.pages, snapshot.in_progress, snapshot.ended_by) == (3, 1, None)
    assert {host.host: host.in_progress for host in hosts} == {"a.test": 0, "b.test": 1}


def test_stopped_before_it_ran_it_asks_for_nothing(web: Web) -> None:
    one = crawl(web, NotingObserver())
    one.stop()
    assert asyncio.run(one.run()).ended_by == "interrupted"
    assert web.requests == []


def test_a_refused_crawl_leaves_the_other_as_it_was(web: Web, tmp_path: Path) -> None:
    asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:", max_pages=1).run())
    with pytest.raises(UsageError, match="different depth"):
        asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:", depth=1).run())
    rest = asyncio.run(crawl(web, NotingObserver(), dir=tmp_path, store="sqlite:").run())
    assert (rest.ended_by, rest.snapshot.pages) == ("complete", 4)


def test_the_state_may_be_kept_elsewhere(web: Web, tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    summary = asyncio.run(
        crawl(web, NotingObserver(), dir=tmp_path / "crawl", store=f"sqlite:{state}").run()
    )
    assert summary.snapshot.pages == 4
    assert state.is_file()
    assert not (tmp_path / "crawl" / "crawl.sqlite").exists()


def test_an_unknown_scorer_is_refused_before_anything_is_made(web: Web, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="scorer"):
        crawl(web, NotingObserver(), dir=tmp_path / "crawl", scorer="fastest")
    assert not (tmp_path / "crawl").exists()
