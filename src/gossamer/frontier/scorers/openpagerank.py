"""The protocol of Open PageRank without the network: requests, and the meaning of answers.

The service changed its owner in 2026, and its protocol. The key shows which one it is for:

    key        request                                           rank
    opr_…      POST /v1/domains/bulk, Authorization: Bearer      open_page_rank, where found
    any other  GET /api/v1.0/getPageRank?domains[]=…, API-OPR    page_rank_decimal

Both accept up to 100 domains per request and rank them from 0 to 10.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote, urlencode

import msgspec

from gossamer.model import Headers
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
        found = dict(_rows(answer.body))
        ranks: Ranks = {domain: found[domain] for domain in asked if domain in found}
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
