"""The language of a page."""

import pytest

from gossamer.content.page_parser import header_language, parse
from gossamer.model import Headers, Url

PRAGMA = "<meta http-equiv=Content-Language content='pt_BR, en'>"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ("<html lang=de>", "de"),
        (f"<html lang=' en-GB '>{PRAGMA}", "en-GB"),
        ("<html xml:lang=fr>", "fr"),
        (f"<html lang=''>{PRAGMA}", "pt-BR"),
        (f"<meta name=x content=y>{PRAGMA}", "pt-BR"),
        ("<html lang='<script>'>", ""),
        ("<html lang='zh-Hans-CN-x-private'>", "zh-Hans-CN-x-private"),
        ("<p lang=it>only a part", ""),
        (f"<html lang={'x' * 1000}>", ""),
        ("", ""),
    ],
)
def test_the_markup_names_the_language(html: str, language: str) -> None:
    page = parse(html.encode(), url=Url("http://a.test/"), content_type="text/html")
    assert page.language == language


def test_so_does_the_header() -> None:
    assert header_language(Headers((("content-language", "nl, en"),))) == "nl"
    assert header_language(Headers((("content-language", "*"), ("content-language", "sv")))) == "sv"
    assert header_language(Headers()) == ""
