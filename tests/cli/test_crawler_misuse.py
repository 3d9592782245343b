"""Bad input: one line on standard error that says what is wrong and how to fix it, exit code 2."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from gossamer.cli import classic
from gossamer.testing import Web

Command = Callable[..., CompletedProcess[str]]


def assert_refused(finished: CompletedProcess[str], *words: str) -> None:
    """One line that has all the words, and nothing else."""
    assert finished.returncode == 2
    assert finished.stdout == ""
    (line,) = finished.stderr.splitlines()
    assert line.startswith("crawler: ")
    for word in words:
        assert word in line


@pytest.mark.req("C1", "C13")
@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_the_number_of_arguments(command: Command, count: int) -> None:
    assert_refused(command("crawler", *["x"] * count), "usage: crawler seedURL", f"not {count}")


def read_variables() -> set[str]:
    """Return the variables that the command asks its environment for."""
    return set(re.findall(r'environment\.get\("([A-Z_]+)"', inspect.getsource(classic)))


@pytest.mark.req("C1")
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_no_error(command: Command, flag: str) -> None:
    finished = command("crawler", flag)
    assert finished.returncode == 0
    assert finished.stdout.startswith("usage: crawler seedURL pageDirectory maxDepth\n")
    assert "nofollow" in finished.stdout
    assert read_variables() == set(re.findall(r"[A-Z_]{10,}", finished.stdout))
    assert finished.stderr == ""


@pytest.mark.req("C2", "C13")
@pytest.mark.parametrize(
    ("seed", "words"),
    [
        ("", "is empty"),
        ("nonsense", "has no scheme; did you mean 'http://nonsense'"),
        ("example.org/index.html", "did you mean 'http://example.org/index.html'"),
        ("ftp://example.org/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("http://", "no host"),
        ("http://exa mple.org/", "not a valid URL"),
        ("http://[::1", "not a valid URL"),
        ("http://example.org:99999/", "not a valid URL"),
        ("\x1b[2Jboo", r"'\x1b[2Jboo'"),
        ("http://example.org/", "does not begin with http://cs50tse.cs.dartmouth.edu/tse/"),
        ("http://cs50tse.cs.dartmouth.edu/tsex", "set CRAWLER_INTERNAL"),
        ("https://cs50tse.cs.dartmouth.edu/tse/", "not internal"),
    ],
)
def test_a_seed_that_will_not_do(command: Command, pages: Path, seed: str, words: str) -> None:
    assert_refused(command("crawler", seed, pages, 1), words)
    assert list(pages.iterdir()) == []


@pytest.mark.req("C2")
def test_the_prefix_is_the_environments(command: Command, pages: Path) -> None:
    elsewhere = command(
        "crawler", "http://a.example/x", pages, 1, CRAWLER_INTERNAL="http://b.example/"
    )
    assert_refused(elsewhere, "does not begin with http://b.example/", "CRAWLER_INTERNAL")
    longer = command(
        "crawler", "http://a.example.evil/", pages, 1, CRAWLER_INTERNAL="http://a.example"
    )
    assert_refused(longer, "does not begin with http://a.example/")
    garbage = command("crawler", "http://a.example/", pages, 1, CRAWLER_INTERNAL="garbage")
    assert_refused(garbage, "the prefix in CRAWLER_INTERNAL 'garbage'")


@pytest.mark.req("C3", "C13")
def test_a_directory_that_will_not_do(command: Command, web: Web, tmp_path: Path) -> None:
    web.site("a.test").page("/")
    internal = {"CRAWLER_INTERNAL": web.base_url}
    file = tmp_path / "file"
    file.write_text("")
    full = tmp_path / "full"
    full.mkdir()
    (full / "7").write_text("precious")
    for place, words in (
        (tmp_path / "missing", "does not exist: create it with 'mkdir"),
        (file, "is not a directory"),
        (Path("/sys"), "cannot be written to"),
        (full, "already holds numbered files (such as '7')"),
    ):
        assert_refused(command("crawler", web.base_url, place, 1, **internal), str(place), words)
    assert (full / "7").read_text() == "precious"
    assert web.requests == []


@pytest.mark.req("C4", "C13")
@pytest.mark.parametrize("depth", ["-1", "11", "1.5", "x", "", " 1", "+1", "1e1", "٣", "9" * 5000])
def test_a_depth_that_will_not_do(command: Command, pages: Path, depth: str) -> None:
    seed = "http://cs50tse.cs.dartmouth.edu/tse/"
    assert_refused(command("crawler", seed, pages, depth), "an integer from 0 to 10")


@pytest.mark.req("C7")
def test_a_first_id_that_will_not_do(command: Command, pages: Path) -> None:
    seed = "http://cs50tse.cs.dartmouth.edu/tse/"
    assert_refused(command("crawler", seed, pages, 1, CRAWLER_FIRST_ID="2"), "must be 0 or 1")


@pytest.mark.req("B6")
def test_a_network_that_will_not_do(command: Command, pages: Path) -> None:
    seed = "http://cs50tse.cs.dartmouth.edu/tse/"
    finished = command("crawler", seed, pages, 1, GOSSAMER_ALLOW_NETWORK="10.0.0.0/99")
    assert_refused(finished, "'10.0.0.0/99'")
