"""Mirror directories: browsable from the disk, cut and continued at any place."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec
import pytest
import turbohtml
from tests.unit.outputs.writing import write_all

from gossamer.model import Url
from gossamer.outputs.contract import PositionLostError
from gossamer.outputs.directory import MARK, DirectoryOutput
from gossamer.outputs.mirror import MirrorForm
from gossamer.outputs.registry import make_output

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.outputs.conftest import MakePage, MakeSpec, Put

    from gossamer.model import Page

SITE = "http://x.org"


def texts(folder: Path) -> dict[str, str]:
    """Return all files of pages, by their paths."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MARK
    }


def hrefs(folder: Path, path: str) -> list[str]:
    return [link.url for link in turbohtml.parse((folder / path).read_text()).links()]


def test_links_between_kept_pages_are_relative_and_others_absolute(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    start = make_page(
        f"{SITE}/",
        b"""<!doctype html><html><head><base href="/docs/"><meta charset=latin1></head>
        <a href="a?utm_source=mail#top">a</a> <a href="/">self</a> <a href="#x">base</a>
        <a href="gone">gone</a> <a href="mailto:a@b">m</a> <img src=i.png>
        <a href="//y.org/z?">y</a>
        <iframe src=a></iframe><a href="old?#here">redirected</a>
        <a href="older">to what is not kept</a>""",
        number=1,
    )
    inner = make_page(f"{SITE}/docs/a", b'<a href="../#end">up</a><a href="#here">h</a>', number=2)
    other = make_page("http://y.org/z?", b'<a href="http://x.org/docs/a">x</a>', number=3)
    image = make_page(
        f"{SITE}/docs/i.png", b"\x89PNG\r\n\x1a\n", number=4, content_type="image/png"
    )
    new = make_page(f"{SITE}/docs/new", number=5)
    aliases = {f"{SITE}/docs/old": 5, f"{SITE}/docs/older": 6, f"{SITE}/docs/a": 5}
    output = make_output(spec := make_spec("site.html"))
    write_all(output, put, start, inner, other, image, new, aliases=aliases)
    folder = spec.path
    assert hrefs(folder, "x.org/index.html") == [
        *("docs/a.html#top", "index.html", "http://x.org/docs/#x", "http://x.org/docs/gone"),
        *("mailto:a@b", "docs/i.png", "../y.org/z.html", "docs/a.html", "docs/new.html#here"),
        "http://x.org/docs/older",
    ]
    assert hrefs(folder, "x.org/docs/a.html") == ["../index.html#end", "#here"]
    assert hrefs(folder, "y.org/z.html") == ["../x.org/docs/a.html"]
    assert (folder / "x.org/docs/i.png").read_bytes() == image.body
    assert hrefs(folder, "index.html") == ["x.org/index.html", "x.org/index.html"]
    assert "<base" not in (folder / "x.org/index.html").read_text()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<html><head><meta charset=windows-1251><title>Привет</title>", "text/html"),
        ("<meta http-equiv=Content-Type content='text/html; charset=x'>Привет", "text/html"),
        ("<!doctype html>\n<p>Привет", "text/html; charset=windows-1251"),
    ],
)
def test_a_page_says_the_encoding_in_which_it_is_written(
    make_page: MakePage, make_spec: MakeSpec, put: Put, body: str, content_type: str
) -> None:
    page = make_page(f"{SITE}/", body.encode("cp1251"), content_type=content_type)
    output = make_output(spec := make_spec("site.html"))
    write_all(output, put, page)
    written = (spec.path / "x.org/index.html").read_bytes()
    tree = turbohtml.parse(written)
    assert "Привет" in tree.text
    assert (tree.encoding or "").lower() == "utf-8"
    assert len(tree.select("meta[charset], meta[http-equiv]")) == 1
    assert written.lower().startswith(b"<!doctype") == body.startswith("<!doctype")


def test_a_page_in_xml_is_written_as_html(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    sent = b"<html><head><script src='s'/></head><p>shown</p></html>"
    output = make_output(spec := make_spec("site.html"))
    write_all(output, put, make_page(f"{SITE}/", sent, content_type="application/xhtml+xml"))
    assert turbohtml.parse((spec.path / "x.org/index.html").read_bytes()).to_text() == "shown"


def test_style_sheets_are_linked_too(make_page: MakePage, make_spec: MakeSpec, put: Put) -> None:
    css = b"/* \xff */ @import 'b.css'; p { background: url(../i.png) }"
    sheet = make_page(f"{SITE}/css/a.css", css, content_type="text/css", number=1)
    second = make_page(f"{SITE}/css/b.css", b"p{}", content_type="text/css", number=2)
    output = make_output(spec := make_spec("site.html"))
    write_all(output, put, sheet, second)
    assert (spec.path / "x.org/css/a.css").read_bytes() == (
        b'/* \xff */ @import "b.css"; p { background: url("http://x.org/i.png") }'
    )


def pages_of_a_site(make_page: MakePage) -> list[Page]:
    """Return pages of which each links to all."""
    links = "".join(f"<a href=/{number % 3}/{number}>" for number in range(1, 10))
    return [
        make_page(f"{SITE}/{number % 3}/{number}", links.encode(), number=number)
        for number in range(1, 10)
    ]


@pytest.mark.req("D19")
def test_what_was_sent_as_html_and_is_none_stays_as_it_is(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    image = b"\x89PNG\r\n\x1a\n\xff"
    logo = make_page(f"{SITE}/logo", image, number=1)
    page = make_page(f"{SITE}/a", b"<a href=/logo>logo</a>", number=2)
    seen_again = make_page(f"{SITE}/a", image, number=2)
    output = make_output(spec := make_spec("site.html"))
    write_all(output, put, logo, page, seen_again)
    assert (spec.path / "x.org/logo.bin").read_bytes() == image
    assert (spec.path / "x.org/a.html").read_bytes() == image


def test_a_directory_is_cut_at_any_position_and_continued(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    pages = pages_of_a_site(make_page)
    spec = make_spec("site.html")
    part = spec.path.with_name("site.html.part")
    output = make_output(spec)
    positions: list[bytes | None] = [None]
    output.rewind(None)
    for page in pages:
        put(output, page)
        positions.append(output.flush())
    assert part.is_dir()
    assert not spec.path.exists()
    output.finish(())
    whole = texts(spec.path)
    assert len(whole) == 10
    for back in (9, 4, 0):
        output = make_output(spec)  # as after a kill: whatever was written after the position
        output.rewind(positions[back])
        assert part.is_dir()
        assert len([*part.rglob("[0-9].html")]) == back
        for page in pages[back:]:
            put(output, page)
        if back == 4:
            output.close()  # killed with pages that no position knows
            output = make_output(spec)
            output.rewind(positions[back])
            for page in pages[back:]:
                put(output, page)
                positions[page.id] = output.flush()
        report = output.finish(())
        assert (report.items, report.files) == (9, 9)
        assert texts(spec.path) == whole
        assert not part.exists()


def test_pages_that_are_kept_later_are_linked_from_those_before(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    pages = pages_of_a_site(make_page)
    output = make_output(spec := make_spec("site.html"))
    output.rewind(None)
    put(output, pages[0])
    position = output.flush()
    output.finish(())
    assert sum(link.startswith("http:") for link in hrefs(spec.path, "x.org/1/1.html")) == 8
    output.rewind(position)
    for page in pages[1:]:
        put(output, page)
    again = make_page(pages[0].url, b"<a href=/2/2>changed", number=1)
    put(output, again, 10)
    output.finish(())
    assert hrefs(spec.path, "x.org/1/1.html") == ["../2/2.html"]
    for path, text in texts(spec.path).items():
        for link in turbohtml.parse(text).links():
            assert (spec.path / path).parent.joinpath(unquote(link.url)).is_file()


def test_what_urls_led_to_before_is_forgotten_when_it_goes_on(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    """Visited again, a URL redirects to another page, or to none."""
    output = make_output(spec := make_spec("site.html"))
    output.rewind(None)
    put(output, make_page(f"{SITE}/1", b"<a href=/moved><a href=/gone>"))
    position = output.flush()
    for url in ("moved", "gone"):
        assert output.add_alias is not None
        output.add_alias(Url(f"{SITE}/{url}"), 1)
    output.finish(())
    assert hrefs(spec.path, "x.org/1.html") == ["1.html", "1.html"]
    output.rewind(position)
    put(output, make_page(f"{SITE}/2", b"<a href=/moved><a href=/gone>", number=2))
    assert output.add_alias is not None
    output.add_alias(Url(f"{SITE}/moved"), 2)
    output.finish(())
    assert hrefs(spec.path, "x.org/2.html") == ["2.html", "http://x.org/gone"]


@pytest.mark.parametrize("name", ["site.html", "site.html.part"])
def test_a_directory_of_others_stays(
    make_page: MakePage, make_spec: MakeSpec, put: Put, name: str
) -> None:
    spec = make_spec("site.html")
    foreign = spec.path.with_name(name) / "mine"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    with pytest.raises(FileExistsError, match=name):
        write_all(make_output(spec), put, make_page(f"{SITE}/"))
    assert foreign.read_text() == "mine"
    assert [*foreign.parent.iterdir()] == [foreign]


def test_files_of_others_in_the_directory_stay(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    output = make_output(spec := make_spec("site.html"))
    write_all(output, put, make_page(f"{SITE}/a/b"))
    note = spec.path / "x.org" / "a" / "note.txt"
    note.write_text("mine")
    write_all(output, put, make_page(f"{SITE}/c"))
    assert note.read_text() == "mine"
    assert not (spec.path / "x.org/a/b.html").exists()


def test_a_directory_that_was_moved_away_is_told(make_spec: MakeSpec) -> None:
    output = make_output(spec := make_spec("site.html"))
    output.rewind(None)
    position = output.flush()
    output.finish(())
    spec.path.rename(spec.path.with_name("elsewhere"))
    with pytest.raises(PositionLostError):
        output.rewind(position)
    output.close()


def test_a_file_that_was_removed_stays_away(
    make_page: MakePage, make_spec: MakeSpec, put: Put
) -> None:
    output = make_output(spec := make_spec("site.html"))
    output.rewind(None)
    put(output, make_page(f"{SITE}/a"))
    put(output, make_page(f"{SITE}/b", number=2))
    position = output.flush()
    output.finish(())
    (spec.path / "x.org/a.html").unlink()
    output.rewind(position)
    output.finish(())
    assert [*texts(spec.path)] == ["index.html", "x.org/b.html"]


def test_a_broken_index_is_told_like_any_failure_of_a_file(make_spec: MakeSpec) -> None:
    spec = make_spec("site.html")
    (spec.folder / "site.html.files").write_bytes(b"not a database" * 100)
    with pytest.raises(OSError, match="its index: file is not a database"):
        make_output(spec).rewind(None)


def test_a_directory_to_be_uploaded_is_written_among_the_states(
    make_page: MakePage, make_spec: MakeSpec, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not beside a `s3:` in the working directory."""
    spec = msgspec.structs.replace(make_spec("site.html"), target="s3://bucket/site.html")
    monkeypatch.chdir(spec.folder.parent)
    spec.path.parent.mkdir()
    write_all(DirectoryOutput(spec, MirrorForm()), put, make_page(f"{SITE}/"))
    assert (spec.path / "index.html").exists()
    assert [file.name for file in spec.folder.parent.iterdir()] == [spec.folder.name]
