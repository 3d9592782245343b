"""Rules for the code base that a machine can check: exports, sizes of files, names."""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer

PACKAGE = Path(gossamer.__file__).parent
TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
MAX_FILES = 250
MIN_LINES, MAX_LINES = 40, 600

RETIRED = (
    # classes, modules and functions
    *("desk", "shelf", "shelves", "shelved?", "ledger", "host book", "credit book", "kit"),
    *("surroundings", "analysts?", "link filer", "link keeper", "twins?", "resemblance"),
    *("taming", "tamed?", "seats?", "tally", "tallies", "lookout", "crews?", "recruits?"),
    *("muster(ed|s)?", "courier", "acquaintances?", "carrier", "haven", "lost place"),
    *("concord", "partitions", "divided crawl"),
    *("page keepers?", "keepers?", "workforce", "staffing", "membership", "participants?"),
    *("vital signs?", "agendas?", "taskless", "promised until", "overtaking", "ringed"),
    *("followed output", "placing", "absence", "worker role", "idle crawl", "led crawl"),
    *(
        "leadership",
        "wordings?",
        "receipts?",
        "own sample",
        "(sqlite|redis|row) backends?",
        "embedded store",
    ),
    # the steps of a store and the states of a URL
    *("turn(ed|s)? away", "known link cache"),
    *("plant", "planted", "planting", "put back", "puts back", "hand(s|ed)? back", "untold"),
    *("borrow(s|ed|ing)?", "lend(s|ing)?", "lent", "dealt", "deal urls", "in work"),
    # messages and help texts
    *("anew", "by lot", "looking whether", "look(s|ing)? on", "of one moment"),
    *("once more to stop", "tell every step", "tell nothing but", "that was found is settled"),
    *("is no duration", "is no size", "is no store", "with another seeds", "begins? like a seed"),
    *("three workers died of", "pages keep [0-9]+ rules", "better as a variable"),
)
"""Old words for things that have the name of the field now: no reader shall need a dictionary.

Lower case, with spaces between the parts of a name: "in work" is also `in_work` and `InWork`.
"""
RETIRED_WORD = re.compile(rf"(?<![a-z])(?:{'|'.join(RETIRED)})(?![a-z])".replace(" ", r"\s"))
RETIRED_OPTION = re.compile(r"(?<![\w-])--(?:crawl|random-seed)(?![\w-])")
TEXTS = {".py", ".sql", ".md", ".yaml", ".yml", ".toml"}
UNCHECKED = {
    TESTS / "test_house.py",
    ROOT / "CHANGELOG.md",  # history
    ROOT / "docs" / "requirements.md",  # written from the names of the tests
}


def packages() -> list[str]:
    found = pkgutil.walk_packages(gossamer.__path__, "gossamer.")
    return ["gossamer", *(one.name for one in found if one.ispkg)]


@pytest.mark.parametrize("name", packages())
def test_what_a_package_exports_is_there_and_in_order(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__doc__
    exported = list(getattr(package, "__all__", []))
    assert exported == sorted(exported, key=lambda one: (not one.isupper(), one[0].islower(), one))
    assert [one for one in exported if not hasattr(package, one)] == []


def test_files_have_one_subject() -> None:
    """Few and full: a file can be read alone, and a reader finds it by its name."""
    sizes = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert len(sizes) <= MAX_FILES
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}
    ways_in = ("__init__.py", "__main__.py")
    assert [
        name for name, size in sizes.items() if size < MIN_LINES and not name.endswith(ways_in)
    ] == []
    assert sizes[str(Path("worker", "pipeline.py"))] <= 150  # the page path, on two screens


def test_no_file_is_a_catch_all() -> None:
    catch_alls = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert [path for path in PACKAGE.rglob("*.py") if path.name in catch_alls] == []


def test_no_two_classes_share_a_name() -> None:
    """One name has one meaning, in the package, its tests, benchmarks and tools."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for folder in (PACKAGE, TESTS, ROOT / "benchmarks", ROOT / "tools"):
        for path in sorted(folder.rglob("*.py")):
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(str(path))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def texts() -> Iterator[Path]:
    for path in [*ROOT.glob("*.*"), ROOT / "Makefile"]:
        if path.suffix in TEXTS or path.name == "Makefile":
            yield path
    for folder in ("benchmarks", "deploy", "docs", "examples", "src", "tests", "tools"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in TEXTS:
                yield path


def words(text: str) -> str:
    """Return the text in lower case, with one space between words and between parts of names.

    Its lines stay, without indentation and comment marks, so that a phrase may go on in the next.
    """
    parted = re.sub(r"[ \t_-]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))
    return re.sub(r" ?\n[ #]*", "\n", parted).lower()


def test_retired_words_do_not_come_back() -> None:
    """A thing has the name that the field gives it: in code, messages, documents and tests."""
    found = []
    for path in sorted(set(texts()) - UNCHECKED):
        text = path.read_text(encoding="utf-8")
        for pattern, searched in ((RETIRED_WORD, words(text)), (RETIRED_OPTION, text)):
            for match in pattern.finditer(searched):
                line = searched.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(ROOT)}:{line}: {match[0]!r}")
    assert not found, "\n".join(found)


def test_the_test_itself_sees_a_retired_word() -> None:
    for line in ("class HostBook:", "host_book = 1", "the host-book", "is in\n    # work"):
        assert RETIRED_WORD.search(words(line))
    for line in ('text.partition(":")', "PARTITION BY url", "in working order", "whatever"):
        assert not RETIRED_WORD.search(words(line))
    assert RETIRED_OPTION.search("gossamer status --crawl name")
    assert not RETIRED_OPTION.search("gossamer crawl --crawl-delay")
