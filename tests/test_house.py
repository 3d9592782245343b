"""The house rules that a machine can check."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import gossamer

PACKAGE = Path(gossamer.__file__).parent
MAX_LINES = 400


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
