"""The scorer of a crawl: loaded, watched, and for PageRank connected to its service."""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec
import pycurl

from gossamer.coordinator.plan import Plan, fetch_options
from gossamer.download.answer import HeaderReader
from gossamer.download.connections import HandlePool
from gossamer.download.curl_errors import CurlFailure
from gossamer.download.lookups import connect_by_table
from gossamer.download.options import FetchOptions
from gossamer.frontier.contract import FrontierClient
from gossamer.frontier.scorers.builtin import ScorerReport
from gossamer.frontier.scorers.loading import SafeScorer, load
from gossamer.frontier.scorers.pagerank import (
    MAX_ANSWER_BYTES,
    Answer,
    Endpoint,
    PageRank,
    PageRankLimits,
    Question,
)
from gossamer.model import Candidate, NameTable, Url
from gossamer.model.errors import UsageError
from gossamer.stores.rows import decode_metadata

SCORER_NOTE = "scorer"
"""The note, stored with the crawl, of how many URLs went unranked and why; none: all are ranked."""
IN_TIME = "not all URLs could be ranked in time"
END_TRANSFER = -1


def load_scorer(plan: Plan, dns: NameTable | None = None) -> SafeScorer:
    """Return the scorer that the plan names; a table of names takes the place of DNS."""
    options = plan.options
    pagerank = partial(
        build_pagerank,
        options.pagerank_key,
        fetch_options(options),
        url=options.pagerank_url,
        seed=options.draw_seed,
        dns=dns,
    )
    return load(plan.scorer_name, {"pagerank": pagerank})


async def read_report(store: FrontierClient) -> ScorerReport | None:
    """Return what went wrong with the scorer so far; None: nothing has."""
    return unpack_report(await store.metadata(SCORER_NOTE))


def unpack_report(note: bytes | None) -> ScorerReport | None:
    """Return what the note says."""
    return decode_metadata(note, ScorerReport, "the note of the scorer in the store is")


class WatchedScorer:
    """A scorer whose first trouble is said, once, and whose unranked URLs are counted in a note.

    Of several processes that rank one after the other each adds its own to the note.
    """

    def __init__(self, scorer: SafeScorer, store: FrontierClient, say: Callable[..., None]) -> None:
        self.name = scorer.name
        self.strict = scorer.strict
        self._scorer = scorer
        self._store = store
        self._say = say
        self._is_said = False
        self._noted = scorer.unranked
        """How many unranked URLs of this process the note counts."""
        self._before: int | None = None
        """How many the note counted when it was first read."""

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return one score for each candidate."""
        scores = await self._scorer.score(candidates)
        if self._scorer.unranked > self._noted:
            await self._note()
        return scores

    async def check(self) -> None:
        """Say that URLs go unranked also where another process ranks them."""
        report = await read_report(self._store)
        count = report.unranked if report else 0
        if self._before is None:
            self._before = count
        elif report is not None and count > self._before:
            self._tell(report)

    async def _note(self) -> None:
        more = self._scorer.unranked - self._noted
        self._noted += more
        before = await read_report(self._store)
        if before is not None and before.name == self.name:
            more += before.unranked
        trouble = self._scorer.trouble or IN_TIME
        report = ScorerReport(name=self.name, trouble=trouble, unranked=more)
        await self._store.put_metadata(SCORER_NOTE, msgspec.json.encode(report))
        self._tell(report)

    def _tell(self, report: ScorerReport) -> None:
        if not self._is_said:
            self._is_said = True
            message = f"URLs are not ranked: {report.trouble}"
            self._say("warning", message, unranked=report.unranked)


def build_pagerank(
    key: str | None,
    options: FetchOptions,
    *,
    url: str | None = None,
    seed: int = 0,
    dns: NameTable | None = None,
) -> PageRank:
    """Return the scorer `pagerank`, ready to ask; without a key, `UsageError`."""
    if not key:
        raise UsageError(
            "the scorer pagerank needs a key to Open PageRank: set GOSSAMER_PAGERANK_KEY for each "
            "process that ranks, since the key is not stored with a crawl; the scorer importance "
            "needs none"
        )
    sender = PageRankHttp(options, dns)
    return PageRank(sender, Endpoint(key, url or ""), PageRankLimits(), seed=seed)


class PageRankHttp:
    """Carries questions, over a connection that is kept between them."""

    def __init__(self, options: FetchOptions, dns: NameTable | None = None) -> None:
        self._options = options
        self._dns = dns
        self._multi = pycurl.AsyncCurlMulti()
        self._handles = HandlePool(options)

    async def __call__(self, question: Question) -> Answer:
        """Return the answer; raise OSError when there is none, or one that is too large."""
        curl = self._handles.take()
        header = HeaderReader(self._options.max_header_bytes, self._options.max_header_count)
        body = bytearray()

        def on_header(line: bytes) -> int | None:
            return None if header.feed(line) is None else END_TRANSFER

        def on_body(data: bytes) -> int | None:
            body.extend(data)
            return None if len(body) <= MAX_ANSWER_BYTES else END_TRANSFER

        curl.setopt(pycurl.URL, question.url)
        fields = [f"{name}: {value}" for name, value in question.headers.items()]
        curl.setopt(pycurl.HTTPHEADER, fields)
        if question.body is None:
            curl.setopt(pycurl.HTTPGET, 1)
        else:
            curl.setopt(pycurl.POSTFIELDS, question.body)
        if self._dns is not None and not connect_by_table(curl, Url(question.url), self._dns):
            self._handles.give_back(curl)
            raise ConnectionError("its name is not in the table")
        curl.setopt(pycurl.HEADERFUNCTION, on_header)
        curl.setopt(pycurl.WRITEFUNCTION, on_body)
        try:
            await self._multi.add_handle(curl)
        except pycurl.error as error:
            # libcurl's own words name the host at most, never a header.
            failure = CurlFailure(*error.args)
            is_late = failure.code == pycurl.E_OPERATION_TIMEDOUT
            raise (TimeoutError if is_late else ConnectionError)(failure.message) from None
        self._handles.give_back(curl)
        return Answer(header.status or 0, header.headers(), bytes(body))

    async def close(self) -> None:
        """Close the connection; a question that is on its way ends as cancelled."""
        await self._multi.aclose()
        self._handles.close()
