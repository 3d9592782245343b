import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model import Page
from gossamer.model.errors import UsageError
from gossamer.modules.loading import MODULES, load_module, load_modules

WriteFile = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteFile:
    monkeypatch.chdir(tmp_path)

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write_file


@pytest.fixture
def install(write: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WriteFile:
    """Install a package that announces modules: its name, and lines `name = package.mod:object`."""

    def install_package(name: str, lines: str) -> Path:
        write(f"site/{name}-1.0.dist-info/METADATA", f"Name: {name}\nVersion: 1.0\n")
        return write(f"site/{name}-1.0.dist-info/entry_points.txt", f"[gossamer.modules]\n{lines}")

    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return install_package


def refusal(spec: str) -> str:
    with pytest.raises(UsageError) as caught:
        load_module(spec)
    words = str(caught.value)
    assert "\n" not in words
    assert "Traceback" not in words
    return words


# --- by name ---


@pytest.mark.req("D12")
@pytest.mark.parametrize("name", ["noop", "save"])
def test_the_modules_that_come_with_gossamer_have_names(name: str) -> None:
    assert load_module(name).name == name


@pytest.mark.req("D12")
def test_an_installed_package_announces_a_module(install: WriteFile, write: WriteFile) -> None:
    write("site/announced_one.py", 'def see(page):\n    """See a page.\n\n    More."""\n')
    install("example", "seer = announced_one:see\n")
    assert load_module("seer").page is not None
    offer = next(offer for offer in MODULES.available() if offer.name == "seer")
    assert (offer.origin, offer.summary) == ("example", "See a page.")


def test_a_package_cannot_take_a_built_in_name(install: WriteFile) -> None:
    install("thief", "save = os:getcwd\n")
    assert load_module("save").depth_changed is not None
    assert [offer.origin for offer in MODULES.available() if offer.name == "save"] == ["built in"]


def test_a_name_announced_twice_is_not_guessed(install: WriteFile) -> None:
    install("one", "seer = one.mod:see\n")
    install("two", "seer = two.mod:see\n")
    words = refusal("seer")
    assert "announced by one and two" in words
    assert "one.mod:see or two.mod:see" in words


def test_a_broken_package_is_listed_with_its_error(install: WriteFile, write: WriteFile) -> None:
    write("site/broken_one.py", "import no_such_thing\n")
    install("broken", "seer = broken_one:see\n")
    offer = next(offer for offer in MODULES.available() if offer.name == "seer")
    assert "No module named 'no_such_thing' (broken_one.py, line 1)" in offer.summary
    assert "module seer of broken cannot be loaded" in refusal("seer")


@pytest.mark.req("D12")
def test_an_unknown_name_gets_the_nearest_known_one() -> None:
    assert "there is no module called 'sav': did you mean 'save'?" in refusal("sav")
    assert "'gossamer modules' lists" in refusal("quite different")
    assert "did you mean" not in refusal("quite different")


def test_the_list_has_the_built_in_modules_with_what_they_do() -> None:
    offers = {offer.name: offer for offer in MODULES.available()}
    assert {"noop", "save"} <= set(offers)
    assert offers["save"].summary.startswith("Writes each page to pages/ID")
    assert all(offer.summary for offer in offers.values())


# --- by dotted name ---


@pytest.mark.req("D12")
def test_an_object_is_named_by_package_and_module() -> None:
    module = load_module("gossamer.modules.builtin:Save")
    assert module.name == "gossamer.modules.builtin:Save"
    assert module.page is not None


def test_a_dotted_name_that_does_not_lead_anywhere(write: WriteFile) -> None:
    assert "No module named 'nowhere'" in refusal("nowhere.mod:see")
    assert "has no 'Sav': there is Noop, Save" in refusal("gossamer.modules.builtin:Sav")
    write("tools/counting.py", "def count(page): ...")
    assert "did you mean ./tools/counting.py:OBJECT?" in refusal("tools.counting:count")


# --- by file ---


@pytest.mark.req("D12")
def test_a_file_is_a_module(write: WriteFile, make_page: Callable[..., Page]) -> None:
    write("mine.py", "seen = []\ndef count(page):\n    seen.append(page.id)\n")
    module = load_module("./mine.py:count")
    assert module.page is not None
    module.page(make_page(7))
    assert module.page.__globals__["seen"] == [7]
    assert module.file == str(Path("mine.py").resolve())


def test_a_file_may_have_any_path(write: WriteFile, tmp_path: Path) -> None:
    write("a folder/my-module.v2.py", "class Inner:\n    def page(self, page): ...\n")
    assert load_module(f"{tmp_path}/a folder/my-module.v2.py:Inner").page is not None
    assert load_module("a folder/my-module.v2.py:Inner").page is not None


def test_dataclasses_and_annotations_work_in_a_file(write: WriteFile) -> None:
    write(
        "mine.py",
        "from __future__ import annotations\n"
        "import dataclasses, typing\n"
        "@dataclasses.dataclass\n"
        "class Count:\n"
        "    total: int = 0\n"
        "    unit: typing.ClassVar[str] = 'pages'\n"
        "    def page(self, page: Count) -> None: ...\n"
        "assert typing.get_type_hints(Count.page)['page'] is Count\n",
    )
    assert load_module("./mine.py:Count").page is not None


def test_two_objects_of_a_file_share_it_and_a_changed_file_is_read_again(write: WriteFile) -> None:
    text = "state = []\ndef a(page): state.append(1)\ndef b(page): state.append(2)\n"
    write("mine.py", text)
    first, second = load_modules(["./mine.py:a", "mine.py:b"])
    assert first.page is not None
    assert second.page is not None
    assert first.page.__globals__ is second.page.__globals__
    write("mine.py", text.replace("append(1)", "append(3)"))
    changed = load_module("./mine.py:a")
    assert changed.page is not None
    assert changed.page.__code__.co_consts[1] == 3


def test_loading_a_file_leaves_the_import_path_and_the_folder_alone(
    write: WriteFile, tmp_path: Path
) -> None:
    before = list(sys.path)
    write("mine.py", "def count(page): ...")
    load_module("./mine.py:count")
    assert sys.path == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"mine.py"}


def test_a_file_cannot_import_its_neighbours_and_says_what_to_do(
    write: WriteFile, tmp_path: Path
) -> None:
    write("neighbour.py", "")
    write("mine.py", "import neighbour\ndef count(page): ...")
    words = refusal("./mine.py:count")
    assert "No module named 'neighbour' (mine.py, line 1)" in words
    assert f"set PYTHONPATH={tmp_path} and name it as mine:OBJECT" in words


@pytest.mark.req("D12")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero (mine.py, line 2)"),
        ("\n\ndef count(page:\n", "SyntaxError: '(' was never closed (mine.py, line 3)"),
        ("raise SystemExit('no')", "SystemExit: no (mine.py, line 1)"),
        ("import json\njson.loads('{')\n", "(mine.py, line 2)"),
        ("raise ValueError('\x1b[31mred\\n' * 99)", "ValueError: \\x1b[31mred"),
        ("\0", "mine.py fails: "),
    ],
)
def test_a_file_that_fails_says_where(write: WriteFile, text: str, words: str) -> None:
    write("mine.py", text)
    before = set(sys.modules)
    found = refusal("./mine.py:count")
    assert words in found
    assert len(found) < 400
    assert {name for name in set(sys.modules) - before if "gossamer_file" in name} == set()


def test_ctrl_c_while_a_file_is_loaded_is_not_its_failure(write: WriteFile) -> None:
    write("mine.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_module("./mine.py:count")


@pytest.mark.req("D12")
def test_an_object_that_is_not_there(write: WriteFile) -> None:
    write("mine.py", "import json\nfrom os import getcwd\ndef count(page): ...\nclass Graph: ...\n")
    assert refusal("./mine.py:cuont").endswith("has no 'cuont': there is count, Graph")
    assert refusal("./mine.py").endswith("needs an object after a colon: there is count, Graph")
    write("empty.py", "")
    assert "there is neither a function nor a class in it" in refusal("./empty.py:count")


@pytest.mark.req("D12")
def test_a_file_that_is_not_there(write: WriteFile, tmp_path: Path) -> None:
    assert refusal("./mine.py:count") == "there is no module file mine.py"
    (tmp_path / "folder.py").mkdir()
    assert "cannot be read: Is a directory" in refusal("./folder.py:count")


def test_the_same_module_twice_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="module save is given twice"):
        load_modules(["save", "noop", "save"])
