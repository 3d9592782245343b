"""Forked commands: they are what the installed ones are, and one that hangs is ended."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from forked_commands import ForkedCommands


@pytest.mark.parametrize(
    "words",
    [
        ["gossamer", "config", "http://a.test/", "--json"],
        ["gossamer", "status", "--dir", "none"],
        ["gossamer", "no such command"],
        ["crawler", "http://a.test/"],
    ],
    ids=" ".join,
)
def test_it_ends_and_says_the_same(
    words: list[str], forked: ForkedCommands, tmp_path: Path
) -> None:
    env = os.environ | {"GOSSAMER_DEPTH": "7"}
    installed = str(Path(sys.executable).with_name(words[0]))
    usual = subprocess.run(
        [installed, *words[1:]], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    ended = forked.run(words, cwd=tmp_path, env=env)
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        usual.returncode,
        usual.stdout,
        usual.stderr,
    )


def test_one_that_hangs_is_ended_and_the_next_is_not_disturbed(
    forked: ForkedCommands, tmp_path: Path
) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forked.run(["gossamer", "web"], cwd=tmp_path, env=os.environ, timeout=0.5)
    ended = forked.run(["gossamer", "--version"], cwd=tmp_path, env=os.environ)
    assert (ended.returncode, ended.stderr) == (0, "")
