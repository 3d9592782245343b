"""The protocol of Open PageRank without the network: requests, and the meaning of answers."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from gossamer.errors import UsageError
from gossamer.frontier.scorers.dialects import Question, dialect_of
from gossamer.model import Headers
from gossamer.policy.retry import retry_after_s
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


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL of the service, and the key to it."""

    key: str = field(repr=False)
    base_url: str = ""
    """Scheme and host; empty: those of the service that the key is for."""

    def __post_init__(self) -> None:
        """Refuse a key or URL that cannot be used; the message does not repeat the key."""
        if not self.key or not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            raise UsageError("The key to Open PageRank must be printable ASCII without spaces.")
        if self.base_url and not self.base_url.startswith(("https://", "http://")):
            raise UsageError(
                f"The URL of Open PageRank must start with https://, not {shown(self.base_url)}."
            )

    def question(self, domains: Sequence[str]) -> Question:
        """Return the request for the ranks of these domains, at most MAX_DOMAINS."""
        dialect = dialect_of(self.key)
        return dialect.ask((self.base_url or dialect.base_url).rstrip("/"), self.key, domains)

    def read(self, answer: Answer, asked: Collection[str]) -> Ranks | Failure:
        """Return the rank of each domain asked for, or why there is none; never raise."""
        if answer.status != HTTPStatus.OK:
            return _refusal(answer)
        found = dict(dialect_of(self.key).rows(_document(answer.body)))
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


def _document(body: bytes) -> object:
    if len(body) > MAX_ANSWER_BYTES:
        return None
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):  # not JSON, not UTF-8, or nested without end
        return None


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
