"""The two protocols of Open PageRank: the request of each, and where its answer has the ranks.

The service changed its owner in 2026, and its protocol. The key shows which one it is for:

    key        request                                           rank
    opr_…      POST /v1/domains/bulk, Authorization: Bearer      open_page_rank, where found
    any other  GET /api/v1.0/getPageRank?domains[]=…, API-OPR    page_rank_decimal

Both accept up to 100 domains per request and rank them from 0 to 10.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias
from urllib.parse import urlencode

import msgspec


@dataclass(frozen=True, slots=True)
class Question:
    """A request to the service. Its header contains the key, and is not shown."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None
    """What to POST; None: it is a GET."""


RankRow: TypeAlias = tuple[str, float | None]
"""A domain and its rank, 0 to 10; None: the service does not list it."""


class Dialect(NamedTuple):
    """One protocol: `rows` accepts any JSON document and yields the valid rows in it."""

    base_url: str
    ask: Callable[[str, str, Sequence[str]], Question]
    """From base URL, key and domains to the request."""
    rows: Callable[[object], Iterator[RankRow]]


def dialect_of(key: str) -> Dialect:
    """Return the protocol that the key is for."""
    return _WITH_BEARER if key.startswith("opr_") else _WITH_API_OPR


def _ask_with_api_opr(base_url: str, key: str, domains: Sequence[str]) -> Question:
    query = urlencode([("domains[]", domain) for domain in domains])
    return Question(f"{base_url}/api/v1.0/getPageRank?{query}", _header({"API-OPR": key}))


def _rows_with_api_opr(document: object) -> Iterator[RankRow]:
    for row in _list_in(document, "response"):
        match row:
            case {"domain": str(domain), "status_code": 200, "page_rank_decimal": rank}:
                yield domain.lower(), _rank(rank)
            case {"domain": str(domain)}:
                yield domain.lower(), None


def _ask_with_bearer(base_url: str, key: str, domains: Sequence[str]) -> Question:
    header = _header({"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
    body = msgspec.json.encode({"domains": domains, "include_history": False})
    return Question(f"{base_url}/v1/domains/bulk", header, body)


def _rows_with_bearer(document: object) -> Iterator[RankRow]:
    for row in _list_in(document, "results"):
        match row:
            case {"domain": str(domain), "found": True, "open_page_rank": rank}:
                yield domain.lower(), _rank(rank)
            case {"domain": str(domain)}:
                yield domain.lower(), None


def _header(fields: dict[str, str]) -> Mapping[str, str]:
    return MappingProxyType({"Accept": "application/json"} | fields)


def _list_in(document: object, name: str) -> list[object]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, list) else []


def _rank(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 10 else None


_WITH_API_OPR = Dialect("https://openpagerank.com", _ask_with_api_opr, _rows_with_api_opr)
_WITH_BEARER = Dialect(
    "https://openpagerank.keywordseverywhere.com", _ask_with_bearer, _rows_with_bearer
)
