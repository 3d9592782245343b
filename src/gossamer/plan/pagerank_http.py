"""The HTTP client for Open PageRank: HTTPS, with the key in the header.

It is not the crawl's client: that one has no header to add and no body to send. The handles are the
crawl's: certificates are verified, no redirect is followed, no proxy of the environment is used, so
the key goes to the host it is for and to no other.
"""

import pycurl

from gossamer.download import FetchOptions
from gossamer.download.curl_errors import CurlFailure
from gossamer.download.handles import HandlePool
from gossamer.download.header import HeaderReader
from gossamer.download.names import direct
from gossamer.errors import UsageError
from gossamer.frontier.scorers.openpagerank import MAX_ANSWER_BYTES, Answer, Endpoint, Question
from gossamer.frontier.scorers.pagerank import PageRank, PageRankLimits
from gossamer.model import NameTable, Url

_END = -1


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
            return None if header.feed(line) is None else _END

        def on_body(data: bytes) -> int | None:
            body.extend(data)
            return None if len(body) <= MAX_ANSWER_BYTES else _END

        _put(question, curl)
        if self._dns is not None and not direct(curl, Url(question.url), self._dns):
            self._handles.give_back(curl)
            raise ConnectionError("its name is not in the table")
        curl.setopt(pycurl.HEADERFUNCTION, on_header)
        curl.setopt(pycurl.WRITEFUNCTION, on_body)
        try:
            await self._multi.add_handle(curl)
        except pycurl.error as error:
            # libcurl's own words name the host at most, never a header.
            raise _no_answer(CurlFailure(*error.args)) from None
        self._handles.give_back(curl)
        return Answer(header.status or 0, header.headers(), bytes(body))

    async def close(self) -> None:
        """Close the connection; a question that is on its way ends as cancelled."""
        await self._multi.aclose()
        self._handles.close()


def _put(question: Question, curl: pycurl.Curl) -> None:
    curl.setopt(pycurl.URL, question.url)
    fields = [f"{name}: {value}" for name, value in question.headers.items()]
    curl.setopt(pycurl.HTTPHEADER, fields)
    if question.body is None:
        curl.setopt(pycurl.HTTPGET, 1)
    else:
        curl.setopt(pycurl.POSTFIELDS, question.body)


def _no_answer(failure: CurlFailure) -> OSError:
    timed_out = failure.code == pycurl.E_OPERATION_TIMEDOUT
    return TimeoutError(failure.message) if timed_out else ConnectionError(failure.message)
