"""A crawl over a shared store as people run it: by commands, each in processes of its own."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from forked_commands import ForkedCommands
from process_tree import is_alive, kill_all, workers_of
from redis_servers import LOOPBACK, PATIENCE_S, wait_until
from tests.chaos import scraper
from tests.cluster.crawl_result import CrawlResult, as_result, impolite, read_all, saved_files
from tests.cluster.small_web import HOSTS

from gossamer.config import load
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.url_record import PageRecord, Result, UrlRecord, UrlState
from gossamer.testing import Web

DELAY_S = 0.1
LEASE_S = 2.0


class GossamerProcess:
    """One command `gossamer` as a process, with what it prints in a file."""

    def __init__(self, output: Path, arguments: list[str], environment: dict[str, str]) -> None:
        self.command = arguments[0]
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gossamer", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, **environment},
                cwd=output.parent,
            )
        self.pid = self._process.pid

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._output.read_text()

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for the end; return the exit code."""
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it goes on after {patience_s:g} s: {self.output}")

    def succeed(self) -> str:
        """Wait for a good end; return what it has printed."""
        assert self.end() == 0, self.output
        return self.output


class EndedCommand(msgspec.Struct, frozen=True):
    """A command that was run to its end."""

    code: int
    output: str

    def succeed(self) -> str:
        """Return what it has printed; its end was good."""
        assert self.code == 0, self.output
        return self.output


class ProcessCrawl:
    """A crawl of a web over a store, under a name of its own, and its processes."""

    def __init__(self, folder: Path, web: Web, url: str, forked: ForkedCommands) -> None:
        self._forked = forked
        self.web = web
        self.url = url
        self.name = f"test-{secrets.token_hex(4)}"
        self.folder = folder / self.name
        self.folder.mkdir()
        self._runs: list[GossamerProcess] = []
        self._answers: list[EndedCommand] = []

    # -- its processes ---------------------------------------------------------------------------

    def run(self, command: str, *arguments: object, **environment: str) -> GossamerProcess:
        """Start a command about this crawl, with variables of its environment."""
        words, variables = self._words(command, arguments), self._variables(environment)
        output = self.folder / f"output-{len(self._runs)}"
        self._runs.append(GossamerProcess(output, words, variables))
        return self._runs[-1]

    def ask(self, command: str, *arguments: object, **environment: str) -> EndedCommand:
        """Run a short command about this crawl to its end."""
        words = ["gossamer", *self._words(command, arguments)]
        variables = {**os.environ, **self._variables(environment)}
        ended = self._forked.run(words, cwd=self.folder, env=variables, timeout=PATIENCE_S)
        self._answers.append(EndedCommand(ended.returncode, ended.stdout + ended.stderr))
        return self._answers[-1]

    def _words(self, command: str, arguments: tuple[object, ...]) -> list[str]:
        words = [command, *map(str, arguments), "--name", self.name]
        if self.url == "redis:" and command not in {"crawl", "worker"}:
            words += ["--dir", str(self.folder)]
        return words

    def _variables(self, environment: dict[str, str]) -> dict[str, str]:
        return {"GOSSAMER_STORE": self.url, **environment}

    def crawl(
        self,
        *options: object,
        workers: int = 2,
        delay_s: float = DELAY_S,
        lease_s: float = LEASE_S,
        **environment: str,
    ) -> GossamerProcess:
        """Start the command that crawls."""
        usual = seed_and_options(self.web, self.folder, workers, delay_s, lease_s)
        return self.run("crawl", *usual, *options, **environment)

    def worker(self, *options: object, **environment: str) -> GossamerProcess:
        """Have one more worker join."""
        return self.run("worker", "--dir", self.folder, *options, **environment)

    def workers(self) -> list[int]:
        """Return the processes that fetch pages, oldest first."""
        runs = [run for run in self._runs if run.command in {"crawl", "worker"}]
        return sorted(pid for run in runs if not run.has_ended for pid in workers_of(run.pid))

    def await_workers(self, count: int) -> list[int]:
        """Return the processes that fetch pages once there are so many."""
        wait_until(lambda: len(self.workers()) >= count)
        return self.workers()

    def processes(self) -> list[int]:
        """Return all processes of commands about this crawl, and those forked from them."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                words = entry.joinpath("cmdline").read_bytes().split(b"\0")
                if self.name.encode() in words and is_alive(int(entry.name)):
                    found.append(int(entry.name))
        return sorted(found)

    def await_gone(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until there is no process of this crawl."""
        wait_until(lambda: not self.processes(), patience_s)

    def await_words(self, run: GossamerProcess, words: str) -> None:
        """Wait until a process has said something."""
        wait_until(lambda: words in run.output)

    def await_words_of_all(self, words: str) -> None:
        """Wait until each frontier has said something."""
        wait_until(
            lambda: all(words in run.output for run in self._runs if run.command == "frontier")
        )

    def await_health(self, code: int, *arguments: object) -> None:
        """Wait until `gossamer health` ends with that code."""
        wait_until(lambda: self.ask("health", *arguments).code == code)

    def everything_said(self) -> str:
        """Return what all commands have printed."""
        outputs = [one.output for one in self._runs] + [one.output for one in self._answers]
        return "".join(outputs)

    def await_requests(self, count: int) -> None:
        """Wait until the web was asked so often."""
        self.web.wait_for_requests(count, PATIENCE_S)

    def close(self) -> None:
        """End what a failed test has left."""
        kill_all(self.processes())
        for run in self._runs:
            run.end()

    # -- what came of it -------------------------------------------------------------------------

    def verify(self) -> None:
        """Have the stored state checked."""
        self.ask("verify").succeed()

    def result(self, *, late_files: int = 0) -> CrawlResult:
        """Return what is in the store, once it is sure that the saved files say the same.

        A process that stands still in the moment before it saves a page does so late, under a
        number that may be another page's by then: as many files may differ.
        """
        records, pages, bodies, results = self._read()
        scraper.assert_each_is_there_once(records, results)
        assert {record.state for record in records} <= {UrlState.DONE, UrlState.TOO_DEEP}
        assert [page.id for page in pages] == [*range(1, len(pages) + 1)]
        assert Counter(page.url for page in pages).most_common(1)[0][1] == 1
        found = [(page.url, page.depth, body) for page, body in zip(pages, bodies, strict=True)]
        saved = saved_files(self.folder)
        wanted = {
            number: b"%s\n%d\n%s" % (url.encode(), depth, body)
            for number, (url, depth, body) in enumerate(found, 1)
        }
        assert saved.keys() == wanted.keys()
        assert sum(saved[number] != wanted[number] for number in wanted) <= late_files
        return as_result(self.web, records, found)

    def records(self) -> list[UrlRecord]:
        """Return all URLs in the store."""
        return self._read()[0]

    def log(self) -> list[Result]:
        """Return the log of results."""
        return self._read()[3]

    def _read(self) -> tuple[list[UrlRecord], list[PageRecord], list[bytes], list[Result]]:
        store = load({"store": self.url}, {}).options.store
        request = ReadRequest(address=store, name=self.name, directory=self.folder)
        return asyncio.run(read_all(request))

    def saved(self) -> dict[int, bytes]:
        """Return the files of the pages by their numbers."""
        return saved_files(self.folder)

    def assert_polite(self) -> None:
        """The server's log shows never two requests to a host at once, nor one too soon."""
        assert impolite(self.web.requests, DELAY_S) == []


def seed_and_options(
    web: Web, folder: Path, workers: int, delay_s: float = DELAY_S, lease_s: float = LEASE_S
) -> list[str]:
    """Return what to crawl and how."""
    seed = f"http://{HOSTS[0]}:{web.address[1]}/"
    feedback = ["--delay", f"{delay_s * 1000:g}ms", "--lease", f"{lease_s:g}s"]
    limits = ["--scope", "any", "--depth", "5", "--similarity", "1"]
    own = ["--allow-network", f"{LOOPBACK}/32", "--allow-network", "::1/128"]
    rest = ["--workers", str(workers), "--dir", str(folder), "--module", "save"]
    records = ["--module", scraper.SPEC]
    return [seed, *feedback, *limits, *own, *rest, *records]
