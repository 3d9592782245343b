"""The house rules that a machine can check."""

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
MAX_LINES = 400

RETIRED = (
    # classes, modules and functions that have another name now
    *("desk", "shelf", "shelves", "shelved?", "ledger", "host book", "credit book", "kit"),
    *("surroundings", "analysts?", "link filer", "link keeper", "twins?", "resemblance"),
    *("taming", "tamed?", "seats?", "tally", "tallies", "lookout", "crews?", "recruits?"),
    *("muster(ed|s)?", "courier", "acquaintances?", "carrier", "haven", "lost place"),
    *("concord", "partitions", "divided crawl"),
    # the steps of a store and the states of a URL
    *("plant", "planted", "planting", "put back", "puts back", "hand(s|ed)? back", "untold"),
    *("borrow(s|ed|ing)?", "lend(s|ing)?", "lent", "dealt", "deal urls", "in work"),
    # what people were told
    *("anew", "by lot", "looking whether", "look(s|ing)? on", "of one moment"),
    *("once more to stop", "tell every step", "tell nothing but", "that was found is settled"),
    *("is no duration", "is no size", "is no store", "with another seeds", "begins? like a seed"),
    *("three workers died of", "pages keep [0-9]+ rules", "better as a variable"),
)
"""Words that a reader of another crawler would have to look up, and what is wrong with them.

Lower case, parts of a name separated by spaces: "in work" is also `in_work` and `InWork`.
"""
RETIRED_OPTIONS = ("--crawl", "--random-seed")
READ_BY_PEOPLE = {".py", ".lua", ".sql", ".md", ".yaml", ".yml", ".toml"}
NOT_OURS_TO_CHANGE = {
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
    assert package.__doc__, "a package tells its story"
    exported = list(getattr(package, "__all__", []))
    assert exported == sorted(exported, key=lambda one: (not one.isupper(), one[0].islower(), one))
    assert [one for one in exported if not hasattr(package, one)] == []


def test_files_have_one_subject() -> None:
    sizes = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}
    assert sorted(sizes.values())[len(sizes) // 2] <= 150


def test_there_is_no_room_without_a_subject() -> None:
    nameless = {"utils.py", "helpers.py", "common.py", "misc.py"}
    assert [path for path in PACKAGE.rglob("*.py") if path.name in nameless] == []


def test_no_two_classes_share_a_name() -> None:
    """Neither those of the package nor those of its tests: one name has one meaning."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for folder in (PACKAGE, TESTS, ROOT / "tools"):
        for path in sorted(folder.rglob("*.py")):
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(str(path))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def texts() -> Iterator[Path]:
    for path in [*ROOT.glob("*.*"), ROOT / "Makefile"]:
        if path.suffix in READ_BY_PEOPLE or path.name == "Makefile":
            yield path
    for folder in ("deploy", "docs", "examples", "src", "tests", "tools"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in READ_BY_PEOPLE:
                yield path


def words(line: str) -> str:
    """Return the line in lower case, with the parts of its names separated by single spaces."""
    return re.sub(r"[\s_-]+", " ", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", line)).lower()


def test_retired_words_do_not_come_back() -> None:
    """A thing has the name that the field gives it: in code, messages, documents and tests."""
    retired = re.compile(rf"(?<![a-z])(?:{'|'.join(RETIRED)})(?![a-z])")
    options = re.compile(rf"(?<![\w-])(?:{'|'.join(RETIRED_OPTIONS)})(?![\w-])")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in sorted(set(texts()) - NOT_OURS_TO_CHANGE)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for match in (retired.search(words(line)), options.search(line))
        if match
    ]
    assert not found, "\n".join(found)


def test_the_test_itself_sees_a_retired_word() -> None:
    retired = re.compile(rf"(?<![a-z])(?:{'|'.join(RETIRED)})(?![a-z])")
    for line in ("class HostBook:", "host_book = 1", "the host-book", "what is in work now"):
        assert retired.search(words(line))
    for line in ('text.partition(":")', "PARTITION BY url", "in working order", "whatever"):
        assert not retired.search(words(line))
