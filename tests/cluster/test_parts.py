"""Workers of a shared crawl write outputs of their own: together they are exact."""

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
    from tests.cluster.process_crawl import GossamerProcess, ProcessCrawl


def rows_in(path: Path) -> list[str]:
    """Return the records of a table, as they were extracted."""
    return path.read_text().splitlines()


def pages_in(path: Path) -> list[str]:
    """Return the URLs of the pages in an archive."""
    with path.open("rb") as file:
        found = [one for one in ArchiveIterator(file) if one.rec_type in {"response", "revisit"}]
    return [one.rec_headers.get_header("WARC-Target-URI") for one in found]


def join(crawl: "ProcessCrawl", name: str, *outputs: str) -> "GossamerProcess":
    """Have a worker join that writes its part into a directory of its own."""
    words = [word for one in outputs for word in ("-o", crawl.folder / one)]
    return crawl.run("worker", "--dir", crawl.folder / name, *words)


def kill_writer(crawl: "ProcessCrawl", run: "GossamerProcess") -> None:
    """Kill the process that writes outputs, and wait until it is replaced."""
    wait_until(lambda: bool(writers_of(run.pid)))
    os.kill(writers_of(run.pid)[0], signal.SIGKILL)
    crawl.await_words(run, "is replaced")


@pytest.mark.req("B9", "B1", "D16")
def test_the_parts_of_killed_workers_are_exact_together(crawl: "ProcessCrawl") -> None:
    """One worker and its writer are killed, and it comes back. One leaves in order.

    A third has no output of its own: its results are in that of the crawl.
    """
    own = ("b.jsonl", "b.warc.gz")
    killed, leaving = join(crawl, "b", *own), join(crawl, "c", "c.jsonl", "c.warc.gz")
    other = crawl.worker()
    for one in (killed, leaving, other):  # so that each gets a host
        crawl.await_words(one, "waiting for the crawl")
    tables = ("-o", crawl.folder / "all.jsonl", "-o", crawl.folder / "all.warc.gz")
    run = crawl.crawl(*tables, workers=0)
    crawl.await_requests(25)
    kill_writer(crawl, killed)
    leaving.signal(signal.SIGTERM)
    crawl.await_requests(45)
    killed.signal(signal.SIGKILL)
    killed.end()
    leaving.succeed()
    again = join(crawl, "b", *own)
    other.succeed()
    assert f", finished: {crawl.folder}/c.jsonl (" in run.succeed()
    assert f"{crawl.folder}/b.jsonl: " in again.succeed()
    crawl.await_gone()
    parts = {name: rows_in(crawl.folder / f"{name}.jsonl") for name in ("all", "b", "c")}
    assert all(parts.values()), "each has fetched something"
    results = crawl.log()
    assert not any(one.row for one in results), "the store keeps nothing that is written"
    log = [one.data.decode() for result in results for one in result.records or ()]
    assert Counter(row for rows in parts.values() for row in rows) == Counter(log)
    pages = [url for name in parts for url in pages_in(crawl.folder / f"{name}.warc.gz")]
    kept = [one.url for one in crawl.records() if one.page_id is not None]
    assert Counter(pages) == Counter(kept)
    assert not [*crawl.folder.glob("*.part")]
    crawl.verify()
    status = json.loads(crawl.ask("status", "--json").succeed())
    written = {Path(one["target"]).name: one for one in status["outputs"]}
    assert written.keys() >= {"all.jsonl", *own, "c.jsonl"}
    assert all(one["finished"] for one in written.values())
    part = written["b.warc.gz"]["part"]
    crawl.ask("export", "--part", part, "-o", "again.jsonl").succeed()
    assert rows_in(crawl.folder / "again.jsonl") == parts["b"]
    crawl.ask("export", "-o", "whole.jsonl").succeed()
    assert Counter(rows_in(crawl.folder / "whole.jsonl")) == Counter(log)


def test_nobody_else_writes_to_the_part_of_a_worker(crawl: "ProcessCrawl") -> None:
    crawl.crawl("--max-pages", "3", "-o", crawl.folder / "all.jsonl", workers=1).succeed()
    worker = crawl.worker("-o", crawl.folder / "all.jsonl")
    assert worker.end() == 2
    assert "all.jsonl is an output of the whole crawl, and is left alone" in worker.output
    crawl.worker("-o", crawl.folder / "mine.jsonl").succeed()
    refused = crawl.crawl("-o", crawl.folder / "mine.jsonl", workers=1)
    assert refused.end() == 2
    assert "mine.jsonl is the part of a worker, and is left alone" in refused.output
    missing = crawl.ask("export", "--part", "7", "-o", "seven.jsonl")
    assert (missing.code, "has no part 7: gossamer status lists" in missing.output) == (2, True)


def test_what_cannot_be_written_is_said_before_the_crawl_is_there(crawl: "ProcessCrawl") -> None:
    for output, words in (("x.docx", "names no format"), ("none/x.csv", "there is no directory")):
        refused = crawl.ask("worker", "-o", output)
        assert (refused.code, words in refused.output) == (2, True)
        assert "waiting" not in refused.output
