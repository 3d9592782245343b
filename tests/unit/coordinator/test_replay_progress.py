"""Which pages are due in a replay, and how that is kept."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer import CrawlError
from gossamer.coordinator.replay import ProgressFile, ReplayProgress


@given(st.lists(st.sets(st.integers(1, 30)), max_size=5))
def test_each_page_has_its_turn_once_whenever_its_number_is_given(runs: list[set[int]]) -> None:
    """A crawl that goes on gives the numbers to its new pages that were free before."""
    progress, shown, pages = ReplayProgress(module="m", crawl=1.0), [], set[int]()
    for new in runs:
        pages |= new
        for number in sorted(pages):
            if progress.is_due(number):
                shown.append(number)
                progress = progress.after(number)
        assert progress.last == max(pages, default=0)
        assert set(progress.gaps) == set(range(1, progress.last)) - pages
    assert sorted(shown) == sorted(pages)


def test_it_is_kept_for_one_module_and_one_crawl(tmp_path: Path) -> None:
    directory = tmp_path / "not yet there"
    file = ProgressFile(directory, "/x/mine.py:count", 12.5)
    file.write(file.read().after(7))
    assert ProgressFile(directory, "/x/mine.py:count", 12.5).read().last == 7
    assert ProgressFile(directory, "/x/mine.py:other", 12.5).read().last == 0
    assert ProgressFile(directory, "/x/mine.py:count", 13.5).read().last == 0, "it was started over"
    (name,) = [one.name for one in directory.iterdir()]
    directory.joinpath(name).write_text("{")
    with pytest.raises(CrawlError, match="--from-start shows all pages again"):
        file.read()
    assert file.start_over().last == file.read().last == 0
