import json

import msgspec
import pytest

from gossamer.coordinator.summary import Summary
from gossamer.display.summary import ending, summary_record, summary_text
from gossamer.model import Snapshot
from gossamer.modules.module_stats import ModuleReport
from gossamer.stores.reading import HostView

GOLDEN = """\
Crawled 3,412 pages in 27s: 128 pages/s, 14 MB received, 12 hosts.

  Outcomes       3,412  fetched
                   120  redirected
                    45  not found
                    12  robots denied: if the host is yours, --ignore-robots
                          HOST
                     1  timed out: raise --timeout, or try again later
  Slowest hosts  45ms  docs.example (1,204 pages)
                 45ms  slow.example (1,204 pages, 3 failed)
  Modules        save: 3,412 pages
                 ./mine.py:count: 3,400 pages, 12 errors, 1 slow
                   last error: KeyError: 'a'
  Ended          the page budget (--max-pages 10000) was reached; 8,112 URLs
                 waiting; 16 in progress
  Results        docs.example
  Continue with  gossamer resume docs.example --max-pages 20000"""

GOLDEN_SMALL = """\
Crawled 1 page in 45ms: 22 pages/s, 300 B received, 1 host.

  Outcomes  1  fetched
  Ended     finished: no URLs left
  Results   one.example"""


@pytest.mark.req("D14")
def test_the_summary_of_a_crawl_that_met_its_budget(summary: Summary) -> None:
    assert summary_text(summary) == GOLDEN


def test_the_summary_of_a_small_crawl_has_only_what_there_is_to_say(snapshot: Snapshot) -> None:
    last = msgspec.structs.replace(
        snapshot,
        waiting=0,
        in_progress=0,
        pages=1,
        visits=1,
        bytes=812,
        received=300,
        outcomes={"fetched": 1},
        hosts=1,
        elapsed_s=0.045,
        pages_per_s=22.2,
    )
    small = Summary(snapshot=last, ended_by="complete", directory="one.example")
    assert summary_text(small) == GOLDEN_SMALL


def test_a_crawl_that_went_on_says_what_is_new(summary: Summary) -> None:
    again = msgspec.structs.replace(summary, pages_before=3000)
    assert summary_text(again).startswith("Crawled 3,412 pages, 412 of them new, in 27s: 128 ")
    assert summary_record(again)["pages"] == 3412
    assert summary_record(again)["new_pages"] == 412
    assert summary_record(summary)["new_pages"] == 3412


@pytest.mark.req("D14")
@pytest.mark.parametrize(
    ("ended_by", "waiting", "in_progress", "words"),
    [
        ("complete", 0, 0, "finished: no URLs left"),
        (
            "max-pages",
            1234,
            0,
            "the page budget (--max-pages 10000) was reached; 1,234 URLs waiting",
        ),
        ("max-pages", 0, 0, "the page budget (--max-pages 10000) was reached"),
        (
            "max-bytes",
            1,
            0,
            "the byte budget (--max-bytes 50MB) was reached; 1 URL waiting",
        ),
        ("interrupted", 7, 1, "it was interrupted; 7 URLs waiting; 1 in progress"),
        ("the disk is full\x1b[2J", 0, 0, r"the disk is full\x1b[2J"),
    ],
)
def test_what_ended_the_crawl_is_said_in_words(
    summary: Summary, ended_by: str, waiting: int, in_progress: int, words: str
) -> None:
    last = msgspec.structs.replace(summary.snapshot, waiting=waiting, in_progress=in_progress)
    assert ending(msgspec.structs.replace(summary, snapshot=last, ended_by=ended_by)) == words


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


def test_whoever_has_named_no_module_learns_how_to_get_the_pages(summary: Summary) -> None:
    command = "gossamer pages --dir docs.example"
    save = "gossamer replay docs.example --module save"
    listed = msgspec.structs.replace(summary, list_with=command, save_with=save)
    assert f"  Pages          {command}  # lists them" in summary_text(listed)
    assert f"{save}  # saves" in summary_text(listed)
    assert "Pages " not in summary_text(summary)
