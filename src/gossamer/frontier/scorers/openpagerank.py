"""Open PageRank without the network: what to ask, and what an answer is worth."""

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
"""The most that the service takes in one call."""
MAX_QUESTION_LENGTH: Final = 6000
"""A name has up to 253 characters, and servers refuse URLs of more than about 8,000."""
MAX_ANSWER_BYTES: Final = 1_000_000
"""An answer about 100 domains has about 15,000."""

_RATE_PAUSE_S: Final = 60.0
"""How long to keep quiet when told to slow down, but not for how long."""
_LASTING_PAUSE_S: Final = 600.0
"""How long to keep quiet when asking again at once cannot help: a wrong key, a moved service."""

_OWN_NETWORKS: Final = frozenset(
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
    """Why there are no ranks."""

    reason: str
    """For people. Nothing that the server sent is in it: it might repeat the key."""
    hold_s: float | None = None
    """How long not to ask again; None: it may pass any moment."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the service is, and the key to it."""

    key: str = field(repr=False)
    base_url: str = ""
    """Scheme and host; empty: those of the service that the key is for."""

    def __post_init__(self) -> None:
        """Refuse what could not be sent; a key is not repeated in the message."""
        if not self.key or not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            raise UsageError("The key to Open PageRank must be printable ASCII without spaces.")
        if self.base_url and not self.base_url.startswith(("https://", "http://")):
            raise UsageError(
                f"The URL of Open PageRank must begin with https://, not {shown(self.base_url)}."
            )

    def question(self, domains: Sequence[str]) -> Question:
        """Return the request for the ranks of these domains, at most MAX_DOMAINS."""
        dialect = dialect_of(self.key)
        return dialect.ask((self.base_url or dialect.base_url).rstrip("/"), self.key, domains)

    def read(self, answer: Answer, asked: Collection[str]) -> Ranks | Failure:
        """Return the rank of each domain asked for, or why not, whatever the answer is made of."""
        if answer.status != HTTPStatus.OK:
            return _refusal(answer)
        found = dict(dialect_of(self.key).rows(_document(answer.body)))
        ranks: Ranks = {domain: found[domain] for domain in asked if domain in found}
        if not ranks:
            return Failure("the answer makes no sense")
        return dict.fromkeys(asked) | ranks


def batches(domains: Sequence[str]) -> Iterator[list[str]]:
    """Yield the domains in portions that fit into a question."""
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
    """Tell whether the service could list it: not an IP address, nor a host of one's own network.

    What means nothing outside is nobody else's business.
    """
    first, _, last = domain.rpartition(".")
    if not first or not last or last.isdigit() or "[" in domain:
        return False
    return last not in _OWN_NETWORKS


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
