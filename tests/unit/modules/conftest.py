from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model import Page, Url
from gossamer.modules.contract import ModuleContext

MakePage = Callable[..., Page]


@pytest.fixture
def make_page() -> MakePage:
    def make(number: int = 1, *, depth: int = 0, body: bytes = b"<p>x", **more: object) -> Page:
        fields: dict[str, object] = {
            "id": number,
            "url": Url(f"http://a.test/{number}"),
            "depth": depth,
            "status": 200,
            "content_type": "text/html",
            "encoding": "utf-8",
            "title": "",
            "body": body,
            "links": (),
            "fetched_at": 0.0,
        }
        return Page(**(fields | more))  # type: ignore[arg-type]  # any field may be replaced

    return make


@pytest.fixture
def context(tmp_path: Path) -> ModuleContext:
    return ModuleContext(directory=tmp_path, crawl="test", worker=0)
