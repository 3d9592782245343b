"""Which pages are due in a replay."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.coordinator.replay import ReplayProgress


@given(st.lists(st.sets(st.integers(1, 30)), max_size=5))
def test_each_page_has_its_turn_once_whenever_its_number_is_given(runs: list[set[int]]) -> None:
    """A crawl that goes on gives the numbers to its new pages that were free before."""
    progress, shown, pages = ReplayProgress(crawl=1.0), [], set[int]()
    for new in runs:
        pages |= new
        for number in sorted(pages):
            if progress.is_due(number):
                shown.append(number)
                progress = progress.after(number)
        assert progress.last == max(pages, default=0)
        assert set(progress.gaps) == set(range(1, progress.last)) - pages
    assert sorted(shown) == sorted(pages)
