import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.frontier.scorers.builtin import Fifo
from gossamer.frontier.scorers.loading import SCORERS, choose, is_strict, load
from gossamer.model import Candidate
from gossamer.model.errors import UsageError

MakeCandidate = Callable[..., Candidate]
Scores = Callable[..., list[float]]

pytestmark = pytest.mark.req("D3")

MINE = '''
class Newest:
    """Takes the newest first.

    And says so at length.
    """
    strict = True
    def score(self, candidates):
        return [float(candidate.depth) for candidate in candidates]

class Named(Newest):
    name = "my-scorer"

def oldest(candidate):
    """Takes the oldest first."""
    return candidate.depth / 2

async def slowly(candidate):
    return 7.0

def exactly(candidate):
    return 1.0
exactly.strict = True

class NeedsMore:
    def __init__(self, key): ...
    def score(self, candidates): ...

ready = Named()
number = 5
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that announces scorers, one of them under a name of ours."""
    (tmp_path / "stranger_scorers.py").write_text(MINE)
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[gossamer.scorers]\n"
        "newest = stranger_scorers:Newest\n"
        "oldest = stranger_scorers:oldest\n"
        "lost = stranger_scorers:missing\n"
        "depth = stranger_scorers:Newest\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "strict"),
    [("depth", True), ("fifo", True), ("importance", False), ("page-number", True)],
)
def test_our_own_are_found_by_name(
    candidate: MakeCandidate, scores: Scores, name: str, strict: bool
) -> None:
    scorer = load(name)
    assert (scorer.name, scorer.strict) == (name, strict)
    assert len(scores(scorer, [candidate(), candidate()])) == 2
    assert scorer.failures == 0


def test_the_list_names_each_with_a_sentence() -> None:
    ours = {one.name: one for one in SCORERS.available() if one.origin == "built in"}
    assert list(ours) == ["depth", "fifo", "importance", "page-number", "pagerank"]
    assert ours["depth"].summary == "Fetches the pages nearest to a seed first."
    assert is_strict(ours["depth"].found)
    assert all(one.summary.endswith(".") for one in ours.values())


@pytest.mark.usefixtures("package")
def test_a_package_announces_its_own_and_cannot_replace_ours(
    candidate: MakeCandidate, scores: Scores
) -> None:
    assert scores(load("newest"), [candidate(depth=3)]) == [3.0]
    assert scores(load("oldest"), [candidate(depth=3)]) == [1.5]
    assert scores(load("depth"), [candidate(depth=1)]) == [50.0]
    theirs = {one.name: one for one in SCORERS.available() if one.origin == "stranger"}
    assert theirs.keys() == {"newest", "oldest", "lost"}
    assert theirs["newest"].summary == "Takes the newest first."
    assert is_strict(theirs["newest"].found)
    assert "cannot be loaded" in theirs["lost"].summary
    with pytest.raises(UsageError, match="scorer lost of stranger cannot be loaded"):
        load("lost")


@pytest.mark.parametrize(
    ("name", "strict", "score"),
    [
        ("Newest", True, 4.0),
        ("ready", True, 4.0),
        ("oldest", False, 2.0),
        ("slowly", False, 7.0),
        ("exactly", True, 1.0),
    ],
)
def test_a_class_an_object_and_a_function_from_a_file_are_scorers(
    mine: Path,
    candidate: MakeCandidate,
    scores: Scores,
    name: str,
    strict: bool,
    score: float,
) -> None:
    scorer = load(f"{mine}:{name}")
    assert scorer.strict is strict
    assert scores(scorer, [candidate(depth=4)]) == [score]
    assert scorer.failures == 0
    asyncio.run(scorer.close())


def test_it_goes_by_the_name_it_has_or_the_one_it_was_found_by(mine: Path) -> None:
    assert load(f"{mine}:Named").name == "my-scorer"
    assert load(f"{mine}:oldest").name == f"{mine}:oldest"


def test_what_needs_more_than_its_name_is_built_by_whoever_can() -> None:
    assert load("pagerank", {"pagerank": Fifo}).name == "fifo"


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("dept", "there is no scorer called 'dept': did you mean 'depth'?"),
        ("zzz", "there is no scorer called 'zzz': 'gossamer scorers' lists them"),
        ("page_number", "did you mean 'page-number'?"),
        ("", "there is no scorer called ''"),
        ("pagerank", "scorer 'pagerank' cannot be created"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(name)
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("NeedsMore", "cannot be created: .*'key'"),
        ("number", "is neither a function nor an object with a method 'score'"),
        ("newest", "has no 'newest': there is Newest"),
    ],
)
def test_what_is_no_scorer_is_refused_before_anything_starts(
    mine: Path, name: str, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        load(f"{mine}:{name}")


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    ("scope", "key", "name"),
    [
        ("host", None, "depth"),
        ("prefix", None, "depth"),
        ("host", "s3cret", "depth"),
        ("domain", None, "importance"),
        ("any", None, "importance"),
        ("any", "", "importance"),
        ("domain", "s3cret", "pagerank"),
        ("any", "s3cret", "pagerank"),
    ],
)
def test_the_scorer_that_fits_the_crawl(scope: str, key: str | None, name: str) -> None:
    assert choose(scope, key) == name
