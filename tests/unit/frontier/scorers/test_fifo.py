from collections.abc import Callable

import pytest

from gossamer.frontier.scorers.builtin import Fifo
from gossamer.model import Candidate


@pytest.mark.req("D3")
def test_all_are_equal_so_that_the_order_of_discovery_decides(
    candidate: Callable[..., Candidate], scores: Callable[..., list[float]]
) -> None:
    found = [candidate(f"http://example.com/{i}", depth=i, credit=i) for i in range(5)]
    assert scores(Fifo(), found) == [50.0] * 5
    assert Fifo.strict
