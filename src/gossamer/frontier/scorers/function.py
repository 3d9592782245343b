"""A plain function as a scorer."""

import inspect
from collections.abc import Callable, Sequence

from gossamer.model import Candidate


class FunctionScorer:
    """Calls a function, which may be async, for one candidate after another.

    A function that wants its scores obeyed exactly has an attribute `strict = True`.
    """

    def __init__(self, function: Callable[[Candidate], object]) -> None:
        self.strict = getattr(function, "strict", False) is True
        self._function = function

    async def score(self, candidates: Sequence[Candidate]) -> list[object]:
        """Return what the function says of each; `SafeScorer` checks it."""
        scores: list[object] = []
        for candidate in candidates:
            score = self._function(candidate)
            scores.append(await score if inspect.isawaitable(score) else score)
        return scores
