"""The scorer `pagerank`: the PageRank of the page's domain, from Open PageRank.

The crawl never depends on the service: a batch of URLs waits for it no longer than the time budget,
and domains without a rank are scored by the crawl's own links. There is no I/O here: requests are
sent by a function that is given to the scorer.

The service changed its owner in 2026, and its protocol. The key shows which one it is for:

    key        request                                           rank
    opr_…      POST /v1/domains/bulk, Authorization: Bearer      open_page_rank, where found
    any other  GET /api/v1.0/getPageRank?domains[]=…, API-OPR    page_rank_decimal

Both accept up to 100 domains per request and rank them from 0 to 10.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

import msgspec

from gossamer.frontier.scorers.builtin import LAST, Closing, importance
from gossamer.model import Candidate, Headers
from gossamer.model.errors import UsageError
from gossamer.policy.failures import retry_after_s
from gossamer.urls import shown

MAX_DOMAINS: Final = 100
"""The most domains that the service accepts in one request."""
MAX_QUESTION_LENGTH: Final = 6000
"""In characters: a name has up to 253, and servers refuse URLs of more than about 8,000."""
MAX_ANSWER_BYTES: Final = 1_000_000
"""An answer about 100 domains has about 15,000."""

_RATE_PAUSE_S: Final = 60.0
"""How long to pause when asked to slow down without a time."""
_LASTING_PAUSE_S: Final = 600.0
"""How long to pause when another request cannot help: a wrong key, a moved service."""

_LOCAL_NAMES: Final = frozenset(
    # RFC 6761 and 6762, ICANN's resolution of 2024, and habit.
    {"localhost", "local", "internal", "corp", "home", "lan"}
)

Ranks: TypeAlias = dict[str, float | None]
"""From domain to rank, 0 to 10; None: the service does not list it."""

FAILURES_IN_A_ROW: Final = 4
FIRST_PAUSE_S: Final = 15.0
MAX_PAUSE_S: Final = 600.0
MAX_HOLD_S: Final = 3600.0
"""The longest pause that a server can ask for."""

_ATTEMPTS: Final = 3
_FIRST_BACK_OFF_S: Final = 0.2


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the service. Its header contains the key, and is not shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None
    """What to POST; None: it is a GET."""


class Answer(NamedTuple):
    """What the service sent back."""

    status: int
    headers: Headers
    body: bytes


class Failure(NamedTuple):
    """Why a request yielded no ranks."""

    reason: str
    """For people. Nothing that the server sent is in it: it might repeat the key."""
    hold_s: float | None = None
    """How long to send no more requests; None: the next one may succeed."""


class Dialect(NamedTuple):
    """One of the two protocols: where it is spoken by default, and under which path."""

    base_url: str
    path: str


BULK: Final = Dialect("https://openpagerank.keywordseverywhere.com", "/v1/domains/bulk")
CLASSIC: Final = Dialect("https://openpagerank.com", "/api/v1.0/getPageRank")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL of the service, and the key to it."""

    key: str = field(repr=False)
    given_url: str = ""
    """Scheme and host, and perhaps the path; empty: those of the service that the key is for."""

    def __post_init__(self) -> None:
        """Refuse a key or URL that cannot be used; the message does not repeat the key."""
        if not self.key or not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            raise UsageError("the key to Open PageRank must be printable ASCII without spaces")
        if self.given_url and not self.given_url.startswith(("https://", "http://")):
            raise UsageError(
                f"the URL of Open PageRank must start with https://, not {shown(self.given_url)}"
            )

    def question(self, domains: Sequence[str]) -> Question:
        """Return the request for the ranks of these domains, at most MAX_DOMAINS."""
        headers = {"Accept": "application/json"}
        if self.key.startswith("opr_"):
            headers |= {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            body = msgspec.json.encode({"domains": domains, "include_history": False})
            return Question(self._url(BULK), headers, body)
        query = urlencode([("domains[]", domain) for domain in domains])
        headers["API-OPR"] = self.key
        return Question(f"{self._url(CLASSIC)}?{query}", headers)

    def _url(self, dialect: Dialect) -> str:
        base_url = self.given_url.rstrip("/") or dialect.base_url
        for known in (BULK, CLASSIC):
            base_url = base_url.removesuffix(known.path)
        return base_url.rstrip("/") + dialect.path

    def read(self, answer: Answer, asked: Collection[str]) -> Ranks | Failure:
        """Return the rank of each domain asked for, or why there is none; never raise."""
        if answer.status != HTTPStatus.OK:
            return _refusal(answer)
        rows = dict(_rows(answer.body))
        ranks: Ranks = {domain: rows[domain] for domain in asked if domain in rows}
        if not ranks:
            return Failure("the answer makes no sense")
        return dict.fromkeys(asked) | ranks


def batches(domains: Sequence[str]) -> Iterator[list[str]]:
    """Yield the domains in batches that fit into one request."""
    batch: list[str] = []
    length = 0
    for domain in domains:
        cost = len("domains%5B%5D=&") + len(quote(domain))
        if batch and (len(batch) == MAX_DOMAINS or length + cost > MAX_QUESTION_LENGTH):
            yield batch
            batch, length = [], 0
        batch.append(domain)
        length += cost
    if batch:
        yield batch


def is_public_name(domain: str) -> bool:
    """Return whether the service could list it: not an IP address, not a name of a local network.

    Local names are not sent to the service.
    """
    first, _, last = domain.rpartition(".")
    if not first or not last or last.isdigit() or "[" in domain:
        return False
    return last not in _LOCAL_NAMES


def _rows(body: bytes) -> Iterator[tuple[str, float | None]]:
    """Yield the domains and ranks in an answer of either protocol; nothing if it is garbage."""
    try:
        document = msgspec.json.decode(body) if len(body) <= MAX_ANSWER_BYTES else None
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return
    match document:
        case {"response": list(rows)} | {"results": list(rows)}:
            for row in rows:
                match row:
                    case {"domain": str(domain), "status_code": 200, "page_rank_decimal": rank} | {
                        "domain": str(domain),
                        "found": True,
                        "open_page_rank": rank,
                    }:
                        yield domain.lower(), _rank(rank)
                    case {"domain": str(domain)}:
                        yield domain.lower(), None


def _rank(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 10 else None


def _refusal(answer: Answer) -> Failure:
    status = answer.status
    reason = f"the service answered {status}"
    asked_s = retry_after_s(answer.headers)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Failure(reason, _RATE_PAUSE_S if asked_s is None else asked_s)
    if status == HTTPStatus.REQUEST_TIMEOUT or status >= 500:
        return Failure(reason, asked_s)
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        reason = f"the service refused the key, or its quota is used up ({status})"
    return Failure(reason, _LASTING_PAUSE_S)


class BreakerState(StrEnum):
    """Whether requests may be sent."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """A circuit breaker: decides from the last results whether to send a request."""

    def __init__(self) -> None:
        self._failures = self._pauses = 0
        self._ask_at: float | None = None
        """When the next request may be sent; None: it is closed."""
        self._is_probing = False

    def state(self, now: float) -> BreakerState:
        """Return its state."""
        if self._ask_at is None:
            return BreakerState.CLOSED
        is_half_open = self._is_probing or now >= self._ask_at
        return BreakerState.HALF_OPEN if is_half_open else BreakerState.OPEN

    def may_ask(self, now: float) -> bool:
        """Return whether a request may be sent now; if so, the caller sends it and reports back.

        When the result of a probe is never reported (its task was cancelled), the next one may be
        sent after another pause.
        """
        if self._ask_at is None:
            return True
        if now < self._ask_at:
            return False
        self._is_probing = True
        self._ask_at = now + self._pause_s()
        return True

    def succeeded(self) -> None:
        """Note a usable answer."""
        self._failures = self._pauses = 0
        self._ask_at, self._is_probing = None, False

    def failed(self, now: float) -> None:
        """Note that a request had no usable answer."""
        self._failures += 1
        tripped = self._ask_at is None and self._failures >= FAILURES_IN_A_ROW
        # A request that was sent before it opened and fails afterwards does not extend the pause.
        if tripped or self._is_probing:
            self._ask_at, self._is_probing = now + self._pause_s(), False
            self._pauses += 1

    def hold(self, now: float, pause_s: float) -> None:
        """Open at once, for as long as the server asks, within reason."""
        self._ask_at = max(self._ask_at or 0.0, now + min(pause_s, MAX_HOLD_S))
        self._is_probing = False

    def _pause_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** min(self._pauses, 16), MAX_PAUSE_S)


class RankCache:
    """A cache of ranks, also of domains without one, limited in age and number.

    Every entry is kept equally long, so entries expire in the order in which they were added, and
    adding one takes constant time.
    """

    def __init__(self, max_domains: int, ttl_s: float) -> None:
        self._max_domains = max_domains
        self._ttl_s = ttl_s
        self._entries: dict[str, tuple[float, float | None]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def known(self, domains: Iterable[str], now: float) -> dict[str, float | None]:
        """Return the cached ranks of these domains; None: the domain is not listed."""
        self._forget(now)
        entries = self._entries
        return {domain: entries[domain][1] for domain in domains if domain in entries}

    def add(self, ranks: Mapping[str, float | None], now: float) -> None:
        """Cache these ranks from now on."""
        for domain, rank in ranks.items():
            self._entries.pop(domain, None)
            self._entries[domain] = now + self._ttl_s, rank
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._entries:
            oldest = next(iter(self._entries))
            if len(self._entries) <= self._max_domains and self._entries[oldest][0] > now:
                return
            del self._entries[oldest]


Ask: TypeAlias = Callable[[Question], Awaitable[Answer]]
"""Sends one request, follows no redirect, and raises OSError when there is no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRankLimits:
    """Limits on the time and memory for ranks."""

    budget_s: float = 5.0
    """The longest that one batch of URLs waits, retries included."""
    cached_domains: int = 50_000
    """About 10 MB."""
    ttl_s: float = 24 * 3600.0
    """How long an answer is cached. The service itself updates its ranks every few weeks."""


class PageRank:
    """Fetches first the pages of domains that the whole web links to most (Open PageRank)."""

    name = "pagerank"
    strict = False

    def __init__(
        self,
        ask: Ask,
        endpoint: Endpoint,
        limits: PageRankLimits,
        *,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._ask = ask
        self._endpoint = endpoint
        self._budget_s = limits.budget_s
        self._cache = RankCache(limits.cached_domains, limits.ttl_s)
        self._breaker = Breaker()
        self._random = random.Random(seed)  # noqa: S311 - jitter, no secret
        self._clock = clock
        self._sleep = sleep
        self._calls = self._failures = 0
        self.trouble = ""
        """Why domains are not ranked now; empty if they are."""
        self.unranked = 0
        """How many URLs got no rank because the service did not answer."""

    def __repr__(self) -> str:
        return (
            f"<PageRank: {self._calls} calls, {self._failures} failed, "
            f"{len(self._cache)} domains known, breaker {self._breaker.state(self._clock())}>"
        )

    async def score(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return 100 minus ten times the PageRank, or an estimate.

        A domain that is not listed has few links from anywhere: it comes in the last tenth, where
        the crawl's own links decide. While the service is unreachable, those links decide alone.
        """
        domains = dict.fromkeys(candidate.domain for candidate in candidates)
        public = [domain for domain in domains if is_public_name(domain)]
        ranks = await self._ranks(public)
        missed = set(public).difference(ranks)
        self.unranked += sum(candidate.domain in missed for candidate in candidates)
        return [_score(candidate, ranks) for candidate in candidates]

    async def close(self) -> None:
        """Close what sends the requests, if it can be closed."""
        sender: object = self._ask
        if isinstance(sender, Closing):
            await sender.close()

    async def _ranks(self, domains: Sequence[str]) -> Ranks:
        """Return the ranks from the cache, or from the service within the time budget."""
        now = self._clock()
        deadline = now + self._budget_s
        ranks = self._cache.known(domains, now)
        for batch in batches([domain for domain in domains if domain not in ranks]):
            learned = await self._look_up(batch, deadline)
            if learned is None:
                break
            self._cache.add(learned, self._clock())
            ranks |= learned
        return ranks

    async def _look_up(self, domains: Sequence[str], deadline: float) -> Ranks | None:
        """Send requests until there is an answer, or no time or reason to try again."""
        for attempt in range(_ATTEMPTS):
            now = self._clock()
            if now >= deadline or not self._breaker.may_ask(now):
                return None
            self._calls += 1
            try:
                async with asyncio.timeout(deadline - now):
                    answer = await self._ask(self._endpoint.question(domains))
                result = self._endpoint.read(answer, domains)
            except OSError as error:  # TimeoutError is one
                result = Failure(f"no answer ({type(error).__name__})")
            if not isinstance(result, Failure):
                self._breaker.succeeded()
                self.trouble = ""
                return result
            pause_s = self._after_failure(result, attempt, deadline)
            if pause_s is None:
                return None
            await self._sleep(pause_s)
        return None

    def _after_failure(self, failure: Failure, attempt: int, deadline: float) -> float | None:
        """Note the failure; return how long to wait for the next attempt, None for no other."""
        now = self._clock()
        self._failures += 1
        self.trouble = f"Open PageRank: {failure.reason}; domains are ordered by the crawl's links"
        self._breaker.failed(now)
        back_off_s = _FIRST_BACK_OFF_S * 2.0**attempt * self._random.uniform(0.5, 1)
        pause_s = max(back_off_s, failure.hold_s or 0.0)
        is_closed = self._breaker.state(now) is BreakerState.CLOSED
        if is_closed and attempt + 1 < _ATTEMPTS and now + pause_s < deadline:
            return pause_s
        if failure.hold_s is not None:
            self._breaker.hold(now, failure.hold_s)
        return None


def _score(candidate: Candidate, ranks: Ranks) -> float:
    if candidate.domain not in ranks:
        return importance(candidate)
    rank = ranks[candidate.domain]
    if rank is None:
        return LAST - 10 + importance(candidate) / 10
    return LAST - 10 * rank
