"""Modules named with options."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model.errors import UsageError
from gossamer.modules.loading import ModuleSpec, load_module, load_modules, parse_spec

MODULES = """
class Open:
    def open(self, context): ...

class Strict(Open):
    known_options = ("words", "limit")

class Wrong(Open):
    known_options = "words"

def see(page): ...
"""


@pytest.mark.req("D12")
@pytest.mark.parametrize(
    ("text", "what", "options"),
    [
        ("save", "save", {}),
        ("package.mod:object", "package.mod:object", {}),
        ("./mine.py:Mine", "./mine.py:Mine", {}),
        ("save:folder=html", "save", {"folder": "html"}),
        ("a.b:c:key=1,other-key=2", "a.b:c", {"key": "1", "other_key": "2"}),
        ("./x=1/mine.py:Mine:key=v", "./x=1/mine.py:Mine", {"key": "v"}),
        ("m:url=http://h:80/?a=1&b=2", "m", {"url": "http://h:80/?a=1&b=2"}),
        ("m:words=one,two, three,limit=", "m", {"words": "one,two, three", "limit": ""}),
    ],
)
def test_what_is_written(text: str, what: str, options: dict[str, str]) -> None:
    assert parse_spec(text) == ModuleSpec(what, options)


@pytest.fixture
def refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MODULES)

    def load(spec: str) -> str:
        with pytest.raises(UsageError) as caught:
            load_module(spec)
        return str(caught.value)

    return load


@pytest.mark.req("D12")
def test_an_option_that_is_not_known_is_refused_with_the_nearest(
    refusal: Callable[[str], str],
) -> None:
    assert refusal("./mine.py:Strict:word=x") == (
        "module ./mine.py:Strict has no option 'word': did you mean 'words'?"
    )
    assert "it knows limit, words" in refusal("./mine.py:Strict:quite=x")
    assert "module noop has no option 'file': it has none" in refusal("noop:file=x")
    assert "did you mean 'folder'?" in refusal("save:foldr=x")
    assert "takes no options" in refusal("./mine.py:see:words=x")
    assert "must be a tuple" in refusal("./mine.py:Wrong:words=x")
    assert "has the option words twice" in refusal("./mine.py:Strict:words=x,words=y")
    assert load_module("./mine.py:Open:anything=x").options == {"anything": "x"}


def test_a_module_may_be_there_twice_with_other_options() -> None:
    names = ["save", "save:folder=html"]
    assert [one.name for one in load_modules(names)] == names
    with pytest.raises(UsageError, match="given twice"):
        load_modules([names[1], names[1]])
