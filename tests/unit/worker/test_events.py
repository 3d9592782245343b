"""What a watcher hears, in the order of the classic crawler."""

from collections.abc import Callable

import pytest

from gossamer.content.links import PageLink
from gossamer.frontier.contract import Link, Settled, Settlement, Task
from gossamer.model import Event, EventKind, HostKey, Outcome, Url
from gossamer.urls import Scope
from gossamer.worker.events import emit_end, emit_links
from gossamer.worker.link_filter import LinkFilter

MakeTask = Callable[..., Task]


@pytest.fixture
def link_filter() -> LinkFilter:
    return LinkFilter(Scope.for_prefix(Url("http://a.test/")), str)


def test_every_link_and_what_became_of_it(task: MakeTask, link_filter: LinkFilter) -> None:
    links = [
        PageLink("new", Url("http://a.test/new")),
        PageLink("new#again", Url("http://a.test/new")),
        PageLink("/old", Url("http://a.test/old")),
        PageLink("/unwanted", Url("http://a.test/unwanted")),
        PageLink("http://b.test/", Url("http://b.test/")),
        PageLink("mailto:a@b.test", None),
    ]
    heard: list[Event] = []
    followed = [link_filter.file(Url(f"http://a.test/{name}")) for name in ("new", "old")]
    settlement = Settlement(task=task(depth=2), outcome=Outcome.FETCHED, links=followed)
    settled = Settled(accepted=True, new_links=[followed[0].key])
    emit_links(heard.append, settlement, links, link_filter, settled)
    assert [(event.kind, event.url) for event in heard] == [
        (EventKind.FOUND, "http://a.test/new"),
        (EventKind.ADDED, "http://a.test/new"),
        (EventKind.FOUND, "http://a.test/new"),
        (EventKind.ALREADY_KNOWN, "http://a.test/new"),
        (EventKind.FOUND, "http://a.test/old"),
        (EventKind.ALREADY_KNOWN, "http://a.test/old"),
        (EventKind.FOUND, "http://a.test/unwanted"),
        (EventKind.OUTSIDE, "http://a.test/unwanted"),
        (EventKind.FOUND, "http://b.test/"),
        (EventKind.OUTSIDE, "http://b.test/"),
        (EventKind.FOUND, "mailto:a@b.test"),
        (EventKind.OUTSIDE, "mailto:a@b.test"),
    ]
    assert {event.depth for event in heard} == {2}


@pytest.mark.parametrize("is_new", [True, False])
def test_where_a_redirect_leads(task: MakeTask, *, is_new: bool) -> None:
    link = Link(Url("http://a.test/b"), b"k" * 16, HostKey("a.test"), "a.test")
    settlement = Settlement(
        task=task(), outcome=Outcome.REDIRECTED, detail="to b", links=[link], redirect=True
    )
    heard: list[Event] = []
    emit_end(heard.append, settlement, Settled(accepted=True, new_links=[link.key] * is_new))
    end, lead = heard
    assert (end.kind, end.outcome, end.detail) == (
        EventKind.UNFETCHED,
        Outcome.REDIRECTED,
        "to b",
    )
    assert lead.kind is (EventKind.ADDED if is_new else EventKind.ALREADY_KNOWN)
    assert lead.url == "http://a.test/b"


def test_an_attempt_that_is_not_the_last_says_so(task: MakeTask) -> None:
    settlement = Settlement(task=task(), outcome=Outcome.TIMED_OUT, detail="silent", retry=True)
    heard: list[Event] = []
    emit_end(heard.append, settlement, Settled(accepted=True))
    (event,) = heard
    assert (event.outcome, event.detail) == (Outcome.TIMED_OUT, "silent; to be tried again")
