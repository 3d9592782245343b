"""What a command loads before it does something: imports are paid where they are used."""

import subprocess
import sys

import gossamer


def imports_of(*words: str) -> tuple[str, set[str]]:
    """Run Python so; return what it printed, and the packages that it loaded."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *words], capture_output=True, text=True, check=True
    )
    names = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    return ran.stdout, names


def test_the_version_is_told_without_loading_any_library() -> None:
    printed, loaded = imports_of("-m", "gossamer", "--version")
    assert printed == f"{gossamer.__version__}\n"
    assert not loaded & {"asyncio", "cyclopts", "msgspec", "rich"}


def test_a_program_loads_the_crawler_when_it_asks_for_it() -> None:
    printed, loaded = imports_of("-c", "import gossamer; print(gossamer.Outcome.FETCHED)")
    assert printed == "fetched\n"
    assert not loaded & {"asyncio", "pycurl", "turbohtml"}
