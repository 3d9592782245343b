"""The outputs of a shared crawl have the results of all of its workers, joined ones too."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from process_tree import writers_of
from redis_servers import wait_until
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from tests.cluster.process_crawl import ProcessCrawl


def pages_in(path: Path) -> list[str]:
    """Return the URLs of the pages in an archive."""
    with path.open("rb") as file:
        found = [one for one in ArchiveIterator(file) if one.rec_type in {"response", "revisit"}]
    return [one.rec_headers.get_header("WARC-Target-URI") for one in found]


@pytest.mark.req("B9", "B1", "D16")
def test_what_joined_workers_have_fetched_is_in_the_outputs_once(crawl: "ProcessCrawl") -> None:
    """They do all of it. One is killed, so is the writer, and one leaves in order."""
    killed, leaving, other = crawl.worker(), crawl.worker(), crawl.worker()
    for one in (killed, leaving, other):  # so that each gets a host
        crawl.await_words(one, "waiting for the crawl")
    outputs = ("-o", crawl.folder / "all.jsonl", "-o", crawl.folder / "all.warc.gz")
    run = crawl.crawl(*outputs, workers=0)
    crawl.await_requests(25)
    wait_until(lambda: bool(writers_of(run.pid)))
    os.kill(writers_of(run.pid)[0], signal.SIGKILL)
    crawl.await_words(run, "is replaced")
    leaving.signal(signal.SIGTERM)
    crawl.await_requests(45)
    killed.signal(signal.SIGKILL)
    killed.end()
    leaving.succeed()
    other.succeed()
    run.succeed()
    crawl.await_gone()
    results = crawl.log()
    assert not any(one.row for one in results), "the store keeps nothing that is written"
    log = [one.data.decode() for result in results for one in result.records or ()]
    rows = (crawl.folder / "all.jsonl").read_text().splitlines()
    assert Counter(rows) == Counter(log)
    assert rows
    kept = [one.url for one in crawl.records() if one.page_id is not None]
    assert Counter(pages_in(crawl.folder / "all.warc.gz")) == Counter(kept)
    assert not [*crawl.folder.glob("*.part")]
    status = json.loads(crawl.ask("status", "--json").succeed())
    finished = {Path(one["target"]).name: one["finished"] for one in status["outputs"]}
    assert finished == {"all.jsonl": True, "all.warc.gz": True}
    crawl.verify()


@pytest.mark.req("B9")
def test_a_joined_worker_writes_no_output_of_its_own(crawl: "ProcessCrawl") -> None:
    """One that is set for all commands is that of the crawl."""
    refused = crawl.ask("worker", "-o", "mine.jsonl")
    assert (refused.code, "waiting" in refused.output) == (2, False)
    assert "-o" in refused.output
    joined = crawl.worker(GOSSAMER_OUTPUT=str(crawl.folder / "none" / "mine.docx"))
    crawl.await_words(joined, "waiting for the crawl")
    crawl.crawl(workers=0, GOSSAMER_OUTPUT=str(crawl.folder / "all.jsonl")).succeed()
    assert "mine.docx" not in joined.succeed()
    records = sum(len(one.records or ()) for one in crawl.log())
    assert len((crawl.folder / "all.jsonl").read_text().splitlines()) == records > 0
    assert not (crawl.folder / "none").exists()
