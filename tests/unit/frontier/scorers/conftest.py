"""Candidates, scored in one line."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import pytest

from gossamer.frontier.scorers.builtin import Scorer
from gossamer.model import Candidate, HostKey, Url


class MakeCandidate(Protocol):
    def __call__(
        self,
        url: str = "http://example.com/",
        *,
        domain: str = "example.com",
        depth: int = 0,
        credit: float = 0.0,
        top_credit: float = 0.0,
    ) -> Candidate: ...


@pytest.fixture(scope="session")
def candidate() -> MakeCandidate:
    def make(
        url: str = "http://example.com/",
        *,
        domain: str = "example.com",
        depth: int = 0,
        credit: float = 0.0,
        top_credit: float = 0.0,
    ) -> Candidate:
        return Candidate(1, Url(url), HostKey(domain), domain, depth, credit, top_credit)

    return make


@pytest.fixture(scope="session")
def scores() -> Iterator[Callable[[Scorer, Sequence[Candidate]], list[float]]]:
    with asyncio.Runner() as runner:

        def score(scorer: Scorer, candidates: Sequence[Candidate]) -> list[float]:
            return runner.run(scorer.score(candidates))

        yield score
