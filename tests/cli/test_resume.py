"""`gossamer resume`: going on with a crawl needs nothing but its name."""

import json
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.cli import main
from gossamer.testing import Reply, Web

Finished = subprocess.CompletedProcess[str]
Gossamer = Callable[..., Finished]

COUNTER = """
def count(page):
    with open(r"{file}", "a") as seen:
        seen.write(f"{{page.id}}\\n")
"""


@pytest.fixture
def seed(web: Web) -> str:
    """A site of 12 pages, each of which leads to two more."""
    site = web.site("a.test")
    for number in range(1, 13):
        links = [f"/{child}" for child in (2 * number, 2 * number + 1) if child <= 12]
        body = "".join(f"<a href='{link}'>x</a>" for link in links) + f"page {number}"
        site.reply("/" if number == 1 else f"/{number}", Reply(body=body))
    host, port = web.address
    return f"http://{host}:{port}/"


def command_of(finished: Finished) -> list[str]:
    """Return the command that the summary advises, to be run as it is printed."""
    (command,) = re.findall("Continue with +(.*)", finished.stderr)
    words = shlex.split(command)
    assert words[0] == "gossamer"
    return words[1:]


def test_help_describes_a_command_in_full_at_any_width(gossamer: Gossamer) -> None:
    told = gossamer("resume", "--help", COLUMNS="60")
    paragraphs = told.stdout.partition("╭")[0].strip().split("\n\n")
    assert "Secrets are not stored:" in paragraphs[-1]
    assert all(30 < len(line.rstrip()) <= 60 for line in paragraphs[-1].splitlines()[:-1])


@pytest.mark.req("B1", "D16")
def test_the_command_that_the_summary_prints_goes_on(
    gossamer: Gossamer, seed: str, crawl: list[str], web: Web, tmp_path: Path
) -> None:
    tmp_path.joinpath("mine.py").write_text(COUNTER.format(file=tmp_path / "seen"))
    options = ["--delay", "0s", "--similarity", "off", "--module", "./mine.py:count"]
    first = gossamer("crawl", seed, *crawl, *options, "--max-pages", 3)
    assert first.returncode == 0, first.stderr
    assert command_of(first)[-2:] == ["--max-pages", "6"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = [str(tmp_path / "a crawl") if word == "a crawl" else word for word in command_of(first)]
    second = gossamer(*words, cwd=elsewhere)
    assert "Crawled 6 pages, 3 of them new, in " in second.stderr
    words[-1] = "100"
    last = gossamer(*words, "--log-format", "json", cwd=elsewhere)
    summary = json.loads(last.stderr.splitlines()[-1])
    assert (summary["pages"], summary["new_pages"]) == (12, 6)
    assert (summary["ended_by"], summary["continue_with"]) == ("complete", None)
    seen = tmp_path.joinpath("seen").read_text().split()
    assert sorted(map(int, seen)) == list(range(1, 13)), "the module was found again"
    asked = Counter(record.path for record in web.requests)
    assert asked.pop("/robots.txt") >= 3
    assert set(asked.values()) == {1}
    assert "not part" not in second.stderr, "it is the same module"


@pytest.mark.req("B1")
def test_an_interrupted_crawl_says_how_it_goes_on_and_does_after_a_kill(
    gossamer: Gossamer, seed: str, crawl: list[str], web: Web, tmp_path: Path
) -> None:
    command = [str(Path(sys.executable).with_name("gossamer")), "crawl", seed, *crawl]
    more = ["--delay", "100ms", "--module", "save"]
    if "--dir" not in crawl:
        more += ["--dir", "a crawl"]

    def interrupted(number: signal.Signals, after: int) -> str:
        before = len(web.requests)
        with subprocess.Popen(
            [*command, *more], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        ) as run:
            web.wait_for_requests(before + after)
            run.send_signal(number)
            return run.communicate(timeout=50)[1]

    words = shlex.split(re.findall("Continue with +(.*)", interrupted(signal.SIGINT, 3))[0])[1:]
    assert words[0] == "resume"
    interrupted(signal.SIGKILL, 3)
    last = gossamer(*words)
    assert last.returncode == 0, last.stderr
    assert "finished: no URLs left" in last.stderr
    saved = {one.name: one.read_bytes() for one in (tmp_path / "a crawl" / "pages").iterdir()}
    assert sorted(map(int, saved)) == list(range(1, 13)), "save was stored, with its directory"
    assert len({body.split(b"\n")[0] for body in saved.values()}) == 12


def test_what_cannot_change_is_refused_and_what_is_missing_is_said(
    gossamer: Gossamer,
    seed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(*words: str) -> str:
        """Run the command in this process: a refusal comes before everything else."""
        monkeypatch.setattr(sys, "argv", ["gossamer", "resume", *words])
        with pytest.raises(SystemExit) as ended:
            main.run()
        assert ended.value.code == 2
        sentence = capsys.readouterr().err
        assert sentence.count("\n") == 1
        return sentence

    assert "there is no crawl here" in refused()
    tmp_path.joinpath("mine.py").write_text("def see(page): pass")
    options = ["--delay", "0s", "--max-pages", "2", "--scope", "any", "--scorer", "auto"]
    first = gossamer(
        "crawl", seed, "--dir", "one", *options, "--module", "./mine.py:see",
        GOSSAMER_PAGERANK_KEY="hush", GOSSAMER_PAGERANK_URL=seed,
    )  # fmt: skip
    assert first.returncode == 0, first.stderr
    assert b"hush" not in b"".join(one.read_bytes() for one in (tmp_path / "one").glob("crawl*"))
    assert "PageRank key, which is not stored" in refused("one")
    for given in (
        ["--scope", "host"],
        ["--depth", "3"],
        ["--include", "x"],
        ["--markers", "<!-- -->"],
    ):
        sentence = refused("one", "--scorer", "importance", *given)
        assert f"{given[0][2:]} cannot change while a crawl goes on" in sentence
    idle = ["-o", "a.html", "--fields", "url"]
    assert "no output here is a table" in refused("one", "--scorer", "importance", *idle)
    assert "--fresh starts a crawl over" in refused("one", "--fresh")
    assert "takes the directory of a crawl, not a seed" in refused(seed)
    assert "max-pages" in refused("one", "--max-pages", "x")
    gossamer("crawl", seed, "--dir", "two", *options)
    assert "several crawls here: name one of 'one', 'two'" in refused()
    tmp_path.joinpath("mine.py").unlink()
    missing = refused("one", "--scorer", "importance")
    assert "the module ./mine.py:see of this crawl is not here any more" in missing
    more = ["--scorer", "importance", "--module", "save", "--max-pages", "4"]
    again = gossamer("resume", "one", *more)
    assert again.returncode == 0, again.stderr
    assert "module ./mine.py:see was part of this crawl and is left out" in again.stderr
    assert (
        "module save was not part of this crawl: it sees only new pages; 'gossamer replay one "
        "--module save' shows it the kept ones"
    ) in again.stderr
