"""The adapter that makes a scorer of a plain function."""

import inspect
from collections.abc import Callable, Sequence

from gossamer.model import Candidate


class FunctionScorer:
    """A scorer that calls a function, which may be async, for each candidate.

    A function whose scores are to be followed exactly has an attribute `strict = True`.
    """

    def __init__(self, function: Callable[[Candidate], object]) -> None:
        self.strict = getattr(function, "strict", False) is True
        self._function = function

    async def score(self, candidates: Sequence[Candidate]) -> list[object]:
        """Return what the function returns for each; `SafeScorer` checks it."""
        scores: list[object] = []
        for candidate in candidates:
            score = self._function(candidate)
            scores.append(await score if inspect.isawaitable(score) else score)
        return scores
