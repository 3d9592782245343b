import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing import Web

Get = Callable[..., Any]
Dial = Callable[[], socket.socket]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "html"
    (root / "sub dir").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "index.html").write_text("<p>home")
    (root / "sub dir" / "index.html").write_text("<p>sub")
    (root / "100% née.html").write_text("<p>odd name")
    (root / "style.css").write_text("p {}")
    (root / "pages.tar.gz").write_bytes(b"\x1f\x8b")
    (root / "README").write_text("read me")
    (root / "inside.html").symlink_to(root / "index.html")
    (root / "outside.txt").symlink_to(tmp_path / "secret.txt")
    (root / "loop").symlink_to(root / "loop")
    return root


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/", "text/html", b"<p>home"),
        ("/index.html?q=1", "text/html", b"<p>home"),
        ("/sub%20dir/", "text/html", b"<p>sub"),
        ("/sub%20dir/../index.html", "text/html", b"<p>home"),
        ("/100%25%20n%C3%A9e.html", "text/html", b"<p>odd name"),
        ("/inside.html", "text/html", b"<p>home"),
        ("/style.css", "text/css", b"p {}"),
        ("/pages.tar.gz", "application/octet-stream", b"\x1f\x8b"),
        ("/README", "application/octet-stream", b"read me"),
    ],
)
def test_files_are_served_with_their_type(
    web: Web, get: Get, root: Path, path: str, kind: str, body: bytes
) -> None:
    web.site("a.test").folder("/", root)
    for _ in range(2):  # read, then kept
        answer = get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, kind)
        assert answer.body == body


def test_a_directory_is_led_to_its_slash(web: Web, get: Get, root: Path) -> None:
    web.site("a.test").folder("/", root)
    answer = get("/sub%20dir")
    assert (answer.status, answer.headers["location"]) == (301, "/sub%20dir/")


def test_a_folder_under_a_prefix(web: Web, get: Get, root: Path) -> None:
    site = web.site("a.test")
    site.folder("/docs/", root)
    site.page("/docs/style.css", html="described")
    assert get("/docs/").body == b"<p>home"
    assert get("/docs/style.css").body == b"described"
    assert get("/index.html").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "/missing.html",
        "/empty/",
        "/index.html/",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2Fsecret.txt",
        "/sub%20dir/../../secret.txt",
        "//etc/passwd",
        "/%2Fetc/passwd",
        "/outside.txt",
        "/loop",
        "/%00",
        "/%ff%fe",
        "/" + "x" * 5000,
    ],
)
def test_nothing_else_is_found(web: Web, root: Path, dial: Dial, path: str) -> None:
    web.site("a.test").folder("/", root)
    connection = dial()
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
    assert connection.recv(1000).startswith(b"HTTP/1.1 404 ")
