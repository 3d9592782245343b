"""`--accept` and `--follow` as they are typed, on both stores: files are kept, saved and shown."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.testing import Reply, Web

Gossamer = Callable[..., subprocess.CompletedProcess[str]]
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))

MODULE = """
from pathlib import Path

def see(page):
    with Path(__file__).with_name("seen").open("a") as seen:
        seen.write(f"{page.kind} {len(page.body)} {page.text!r} {len(page.links)}\\n")
"""


@pytest.fixture
def seed(web: Web) -> str:
    site = web.site("a.test")
    site.page("/", html="<title>T</title><img src=/i.png><a href=/x.bin>x</a><a href=/old>x</a>")
    site.page("/old", html="<meta http-equiv=refresh content='1; url=/large.png'>")
    site.reply("/large.png", Reply(headers={"Content-Type": "image/png"}, body=PNG * 10))
    site.reply("/i.png", Reply(headers={"Content-Type": "image/png"}, body=PNG))
    site.reply("/x.bin", Reply(headers={"Content-Type": "application/x-y"}, body=b"\0"))
    return f"{web.base_url}/"


@pytest.mark.req("D14")
def test_a_file_is_kept_saved_checked_and_replayed_on_both_stores(
    gossamer: Gossamer, crawl: list[str], seed: str, tmp_path: Path
) -> None:
    tmp_path.joinpath("mine.py").write_text(MODULE)
    more = [] if "--dir" in crawl else ["--dir", "a crawl"]
    words = ["--accept", "html,image", "--delay", "0s", "--module", "save"]
    words += ["--max-file-bytes", "1kB", "--scorer", "depth"]
    finished = gossamer("crawl", seed, *crawl, *more, *words)
    assert finished.returncode == 0, finished.stderr
    summary = " ".join(finished.stderr.split())
    assert (
        "1 unwanted type: --accept keeps other types, and --exclude spares the requests" in summary
    )
    assert "1 redirected" in summary
    assert "1 too large: 1 of them files; raise --max-page-bytes, or --max-file-bytes" in summary
    saved = tmp_path.joinpath("a crawl", "pages", "2").read_bytes()
    assert saved == f"{seed}i.png\n1\n".encode() + PNG
    checked = gossamer("verify", *crawl)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    replayed = gossamer("replay", *crawl, *more, "--module", "./mine.py:see")
    assert replayed.returncode == 0, replayed.stderr
    html, image = tmp_path.joinpath("seen").read_text().splitlines()
    assert html.startswith("html ")
    assert html.endswith(" 3")
    assert image == f"image {len(PNG)} '' 0"


def test_what_a_crawl_accepts_and_follows_stays_while_it_goes_on(
    gossamer: Gossamer, seed: str
) -> None:
    begun = ["crawl", seed, "--dir", "d", "--delay", "0s", "--max-pages", "1"]
    assert gossamer(*begun, "--accept", "image", "--accept", "pdf").returncode == 0
    refused = gossamer(*begun, "--accept", "image")
    assert refused.returncode == 2
    assert "started with different accept (image,pdf instead of image)" in refused.stderr
    resumed = gossamer("resume", "--dir", "d", "--max-pages", "9")
    assert resumed.returncode == 0, resumed.stderr
    assert "3  fetched" in resumed.stderr


def test_a_file_of_options_names_them_too(gossamer: Gossamer, seed: str, tmp_path: Path) -> None:
    tmp_path.joinpath("c.toml").write_text('accept = ["html", "image"]\nfollow = "a, image"\n')
    shown = gossamer("config", "--config", "c.toml").stdout
    assert "html,image" in shown
    assert "a,image" in shown
    finished = gossamer("crawl", seed, "--config", "c.toml", "--delay", "0s", "-v")
    assert f"Found: {seed}i.png (image)" in finished.stdout


def test_a_wrong_word_is_refused_with_the_right_ones(gossamer: Gossamer, seed: str) -> None:
    finished = gossamer("crawl", seed, "--accept", "html,pfd")
    assert finished.returncode == 2
    assert finished.stderr.startswith(
        "gossamer: accept (--accept) has 'pfd', which must be one of html, text, xml,"
    )
    assert finished.stderr.endswith("any: did you mean pdf?\n")


def test_inspect_tells_the_kind_of_a_link(gossamer: Gossamer, web: Web) -> None:
    site = web.site("a.test")
    html = "<link rel=next href=/2><a href=/a>a</a><img src=/i.png>"
    site.page("/", html=html)
    found = gossamer("inspect", f"{web.base_url}/", "--follow", "a,image").stdout.splitlines()
    assert found[-2:] == [f"    + {web.base_url}/a", f"    + {web.base_url}/i.png  [image]"]
