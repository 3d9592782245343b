"""What the README says is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from write_configuration import text as configuration_page

from gossamer.testing import Web

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs() -> None:
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert "http://127.0.0.1:8000/" in program
    with Web() as web:
        web.site("a.test").page("/", links=["/b"], title="Hello", text="one two three")
        finished = subprocess.run(
            [sys.executable, "-c", program.replace("http://127.0.0.1:8000/", f"{web.base_url}/")],
            capture_output=True,
            text=True,
            check=True,
        )
        assert re.fullmatch(r"\d+ words\n", finished.stdout)


def test_every_command_that_is_named_exists() -> None:
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("gossamer")), "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    named = set(re.findall(r"gossamer ([a-z]+)", README)) - {"which"}
    assert {"crawl", "status", "explain", "verify"} <= named
    assert [name for name in named if f" {name} " not in shown] == []


def test_the_page_of_options_is_current() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert page == configuration_page(), "run 'make docs'"


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    pages = [README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")]
    named = {name for page in pages for name in re.findall(r"\bmake ([a-z]+)\b", page)}
    assert {"demo", "test", "check", "bench"} <= named
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
