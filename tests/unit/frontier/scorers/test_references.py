from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.frontier.scorers.references import load_object


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Newest:\n"
        "    size: int = 3\n"
        "def oldest(candidate): return 1\n"
    )
    return path


def test_a_dotted_name_is_imported() -> None:
    assert load_object("pathlib:Path") is Path


def test_a_file_is_imported_once_however_often_it_is_named(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = load_object(f"{mine}:Newest")
    assert repr(newest() if isinstance(newest, type) else None) == "Newest(size=3)"
    monkeypatch.chdir(mine.parent)
    assert load_object("./mine.py:Newest") is newest
    assert load_object("mine.py:Newest") is newest


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("no_such_package.at_all:thing", "'no_such_package.at_all' cannot be imported: Module"),
        ("pathlib:Paht", "'pathlib' has no 'Paht'; did you mean 'Path'?"),
        ("pathlib:zzzzzz", "'pathlib' has no 'zzzzzz'."),
        ("./missing.py:thing", "There is no file"),
        ("pathlib", "not of the form package.module:name"),
        ("pathlib:", "not of the form package.module:name"),
        (":Path", "not of the form package.module:name"),
        ("..pathlib:Path", "cannot be imported"),
        ("path\x1b[31mlib:Path", r"'path\\x1b[31mlib' cannot be imported"),
    ],
)
def test_a_wrong_reference_is_explained(reference: str, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_object(reference)
    assert complaint.replace("\\\\", "\\") in str(caught.value)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", "SyntaxError: invalid syntax"),
        ("import no_such_package", "No module named 'no_such_package'"),
        ("\0", "cannot be imported"),
    ],
)
def test_a_file_that_cannot_be_imported_is_explained(
    tmp_path: Path, source: str, complaint: str
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    for _ in range(2):  # the second time is like the first: nothing half-imported stays behind
        with pytest.raises(UsageError) as caught:
            load_object(f"{path}:thing")
        assert complaint in str(caught.value)
