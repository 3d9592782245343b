"""What a command loads before it does something: imports are paid where they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import gossamer
from gossamer.testing import Web


def imports_of(*words: str) -> tuple[str, set[str]]:
    """Run Python so; return what it printed, and all that it and its processes loaded."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *words], capture_output=True, text=True, check=True
    )
    names = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    return ran.stdout, names


def test_the_version_is_told_without_loading_any_library() -> None:
    printed, loaded = imports_of("-m", "gossamer", "--version")
    assert printed == f"{gossamer.__version__}\n"
    assert not loaded & {"asyncio", "cyclopts", "msgspec", "rich"}


def test_a_program_loads_the_crawler_when_it_asks_for_it() -> None:
    printed, loaded = imports_of("-c", "import gossamer; print(gossamer.Outcome.FETCHED)")
    assert printed == "fetched\n"
    assert not loaded & {"asyncio", "pycurl", "turbohtml"}


def test_a_plain_crawl_loads_only_what_it_needs_in_all_of_its_processes(tmp_path: Path) -> None:
    with Web() as web:
        web.site("127.0.0.1").page("/", ["/next"])
        web.site("127.0.0.1").page("/next")
        options = ["--quiet", "--delay", "0s", "--dir", str(tmp_path / "crawl")]
        words = ["-m", "gossamer", "crawl", f"{web.base_url}/", *options]
        _, loaded = imports_of(*words)
    assert {
        "gossamer.coordinator.processes.worker_main",
        "pycurl",
        "sqlite3",
        "turbohtml",
    } <= loaded
    help_texts = {"docstring_parser", "rich"}
    other_stores = {"hiredis", "obstore", "redis"}
    outputs = {"isal", "pyarrow", "gossamer.outputs.tables", "gossamer.outputs.warc"}
    sitemaps = {"email", "xml.parsers.expat", "gossamer.content.sitemap"}
    texts = {"turbohtml.clean", "gossamer.content.main_part", "gossamer.content.metadata"}
    other_commands = {"gossamer.testing", "importlib.metadata", "tomllib"}
    unwanted = help_texts | other_stores | outputs | sitemaps | texts | other_commands
    assert loaded & unwanted == set()


def test_help_and_completion_know_what_is_loaded_only_when_asked_for() -> None:
    words = (
        "import gossamer, pydoc; print(dir(gossamer)); print(pydoc.plaintext.document(gossamer))"
    )
    printed, _ = imports_of("-c", words)
    listed, described = printed.split("\n", 1)
    assert set(gossamer.__all__) <= set(ast.literal_eval(listed))
    assert "Crawl from the seeds and return what came of it." in described
    _, loaded = imports_of("-c", "import gossamer; dir(gossamer)")
    assert not loaded & {"asyncio", "msgspec"}
