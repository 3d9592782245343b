"""Links in mirrors and in directories of Markdown, to URLs that lead to a page of another one."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import turbohtml

from gossamer.testing import Web

if TYPE_CHECKING:
    from tests.cli.conftest import Command

LONG = " ".join(f"word{number}" for number in range(400))
LEADING = {
    "/dir/": "dir/index{}",
    "/dir": "dir/index{}",
    "/index.html#top": "index{}#top",
    "/soon#part": "dir/index{}#part",
    "/first": "original{}",
    "/copy?a=1#part": "original{}#part",
    "/near": "original{}",
    "/new": "new{}",
}
"""Links that lead to a page, and to its file; the fragment goes along."""
ELSEWHERE = ("/to-missing", "/round", "/missing")
"""Links that lead to none."""


def page(*links: str, text: str) -> str:
    paragraphs = "".join(f'<p>{text}<p><a href="{link}">{link}</a>' for link in links)
    return f"<title>{text[:9]}</title><main>{paragraphs}<p>{text}</main>"


def describe(web: Web) -> None:
    """Describe a site whose originals are found before what repeats them."""
    site = web.site("127.0.0.1")
    home = page("/original", text="home")
    for path in ("/", "/index.html"):
        site.page(path, html=home)
    for path in ("/original", "/copy?a=1"):
        site.page(path, html=page(*LEADING, *ELSEWHERE, text=LONG))
    site.page("/near", html=page(*LEADING, *ELSEWHERE, text=LONG.replace("word200", "other")))
    site.page("/dir/", html=page("/", text="the folder"))
    site.page("/new", html=page("/index.html", "/near", "/dir#part", text="found late"))
    site.redirect("/dir", "/dir/")
    site.page("/soon", html='<meta http-equiv="refresh" content="0; url=/dir/">')
    for path, target in {
        "/first": "/second",
        "/second": "/copy?a=1",
        "/to-missing": "/missing",
        "/round": "/and-round",
        "/and-round": "/round",
    }.items():
        site.redirect(path, target)


def links(folder: Path, name: str) -> list[str]:
    """Return the links in the file of a page, in order."""
    (file,) = folder.glob(f"127.0.0.1+*/{name}{folder.suffix}")
    if folder.suffix == ".html":
        return [link.url for link in turbohtml.parse(file.read_text()).links()]
    return re.findall(r"\]\((\S+)\)", file.read_text())


def test_links_to_what_redirects_or_repeats_lead_to_the_kept_page(
    gossamer: "Command", web: Web, crawl: list[str], tmp_path: Path
) -> None:
    describe(web)
    words = ["crawl", f"{web.base_url}/", *crawl, "--delay", "0s", "--workers", "1"]
    words += ["-o", "site.html", "-o", "site.md"]
    for command in (
        [*words, "--max-pages", 2],  # the first page and the original
        ["export", *crawl, "--new", "-o", "before.html"],
        [*words, "--max-pages", 100],
        ["export", *crawl, "--new", "-o", "after.html"],
        ["export", *crawl, "-o", "whole.html", "-o", "whole.md"],
    ):
        done = gossamer(*command)
        assert done.returncode == 0, done.stderr
    away = [f"{web.base_url}{path}" for path in ELSEWHERE]
    for name in ("site.html", "site.md", "whole.html", "whole.md"):
        ending = name[name.index(".") :]
        here = [file.format(ending) for file in LEADING.values()]
        assert links(tmp_path / name, "original") == [*here, *away], name
    assert links(tmp_path / "after.html", "new") == [
        *(f"{web.base_url}{path}" for path in ("/index.html", "/near")),  # of pages before
        "dir/index.html#part",
    ]
