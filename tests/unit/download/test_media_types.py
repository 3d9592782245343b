import pytest

from gossamer.download.answer import is_accepted, media_type_of
from gossamer.policy.content_kinds import PAGES


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "Text/HTML; charset=UTF-8",
        " text/html;charset",
        "text/html, text/html",
        " Text/HTML ; charset=x",
        "application/xhtml+xml",
        "text/plain",
        "text/markdown; variant=GFM",
        "text/xml",
        # What does not say is left to its bytes.
        None,
        "",
        "html",
        "text html",
        "/",
        "text/",
        ";charset=utf-8",
    ],
)
def test_html_text_and_unlabelled_bodies_are_downloaded(content_type: str | None) -> None:
    assert is_accepted(media_type_of(content_type), PAGES)


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    "content_type",
    [
        "image/png",
        "video/mp4",
        "application/pdf",
        "application/octet-stream",
        "application/json",
        "application/xml",
        "application/javascript",
        "text/css",
        " Text/CSS ; charset=x",
        "text/javascript; charset=utf-8",
        "TEXT/EVENT-STREAM",
        "text/calendar",
        "text/vcard",
        "texty/html",
        "multipart/x-mixed-replace; boundary=x",
    ],
)
def test_everything_else_is_not(content_type: str) -> None:
    assert not is_accepted(media_type_of(content_type), PAGES)
