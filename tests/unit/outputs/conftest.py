"""Pages and results for outputs, made by hand."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gossamer.content.sniff import kind_of, parse_content_type
from gossamer.download.request_settings import request_bytes
from gossamer.model import Exchange, Page, Url
from gossamer.model.names import ContentKind
from gossamer.outputs.contract import Output, OutputSpec
from gossamer.stores.url_record import Result

MakePage = Callable[..., Page]
MakeSpec = Callable[..., OutputSpec]
Put = Callable[..., None]

HEAD = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Type: text/html\r\n\r\n"


@pytest.fixture
def make_page() -> MakePage:
    """Return what makes a page of HTML as a crawl has kept it."""

    def make(
        url: str,
        body: bytes = b"<title>T</title>",
        *,
        number: int = 1,
        content_type: str = "text/html",
        links: Sequence[str] = (),
        head: bytes | None = HEAD,
        coded: bytes | None = None,
        fetched_at: float = 1_700_000_000.0,
        asked: str | None = None,
    ) -> Page:
        request = request_bytes(Url(asked or url), "gossamer", ())
        return Page(
            id=number,
            url=Url(url),
            depth=2,
            kind=kind_of(parse_content_type(content_type), body, frozenset(ContentKind)),
            status=200,
            content_type=content_type,
            encoding="utf-8",
            title="T",
            body=body,
            links=tuple(map(Url, links)),
            fetched_at=fetched_at,
            found_on=Url("http://x.org/from"),
            exchange=None if head is None else Exchange(request, head, "192.0.2.7"),
            coded_body=coded,
        )

    return make


@pytest.fixture
def make_spec(tmp_path: Path) -> MakeSpec:
    """Return what makes the spec of an output in the test's directory."""
    folder = tmp_path / "state"
    folder.mkdir()

    def make(name: str, warc_size: int = 1_000_000_000) -> OutputSpec:
        return OutputSpec(
            target=str(tmp_path / name),
            folder=folder,
            key=name,
            crawl="demo",
            warc_size=warc_size,
        )

    return make


@pytest.fixture
def put() -> Put:
    """Return what hands a page to an output, as the writer does."""

    def put(output: Output, page: Page, number: int | None = None) -> None:
        result = Result(
            number=number or page.id, url_id=page.id, page_id=page.id, settled_at=page.fetched_at
        )
        assert output.wants_page(result)
        output.write(result, page)

    return put
