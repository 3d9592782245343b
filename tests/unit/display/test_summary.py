import json

import msgspec
import pytest

from gossamer.coordinator.summary import Summary
from gossamer.display.summary import sitemap_words, summary_record, summary_text
from gossamer.model import Snapshot
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.crawl_views import HostView


def test_a_crawl_that_went_on_says_what_is_new(summary: Summary) -> None:
    again = msgspec.structs.replace(summary, pages_before=3000)
    assert summary_record(again)["pages"] == 3412
    assert summary_record(again)["new_pages"] == 412
    assert summary_record(summary)["new_pages"] == 3412


@pytest.mark.req("D19")
def test_nothing_of_others_reaches_the_terminal_as_it_is(
    snapshot: Snapshot, hosts: list[HostView], hostile: str
) -> None:
    text = summary_text(
        Summary(
            snapshot=msgspec.structs.replace(snapshot, outcomes={hostile: 1}),
            ended_by=hostile,
            directory=hostile,
            continue_with=hostile,
            slowest_hosts=[msgspec.structs.replace(hosts[0], host=hostile)],
            modules=[
                ModuleReport(
                    name=hostile,
                    pages=1,
                    errors=1,
                    timed_out=1,
                    slow=1,
                    missed=1,
                    records=1234,
                    ends=2,
                    last_error=hostile,
                )
            ],
        )
    )
    assert all(line.isprintable() for line in text.split("\n"))
    assert text.count("[red]x[/red]") == 7
    assert "1 page, the end of 2 URLs, 1,234 records" in " ".join(text.split())


def test_no_sentence_is_wider_than_a_terminal(summary: Summary) -> None:
    long = msgspec.structs.replace(summary, ended_by="some words " * 40)
    assert max(map(len, summary_text(long).split("\n"))) <= 80
    narrow = summary_text(long, columns=50).split("\n")
    assert max(len(line) for line in narrow if "some words" in line) <= 50
    url = f"http://a.test/{'x' * 100}"
    assert url in summary_text(msgspec.structs.replace(summary, ended_by=f"it failed at {url}"))


def test_the_record_has_all_of_it_for_machines(summary: Summary) -> None:
    written = json.loads(msgspec.json.encode(summary_record(summary)))
    assert written["pages"] == 3412
    assert written["outcomes"]["not_found"] == 45
    assert written["ended_by"] == "max-pages"
    assert written["ended"].startswith("the page budget (--max-pages 10000) was reached;")
    assert written["directory"] == "docs.example"
    assert written["continue_with"].startswith("gossamer resume ")
    assert [host["host"] for host in written["slowest_hosts"]] == ["docs.example", "slow.example"]
    assert [(one["name"], one["errors"]) for one in written["modules"]] == [
        ("save", 0),
        ("./mine.py:count", 12),
    ]


def test_urls_of_sitemaps_that_are_not_finished_are_told_as_that() -> None:
    assert sitemap_words(0, {}) == ""
    assert sitemap_words(120, {"sitemap": 2}) == "120 URLs found in 2 sitemaps"
    assert sitemap_words(1, {}) == "1 URL found in sitemaps of which none is finished"
