"""The command on a real web: what it prints, what it leaves, how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen

import pytest

from gossamer.testing import KeepOpen, Reply, Web, min_gap_s

Command = Callable[..., CompletedProcess[str]]


def assert_failed(finished: CompletedProcess[str], pages: Path, *words: str) -> None:
    """One line on standard error with all the words, exit code 1, no file."""
    assert finished.returncode == 1
    (line,) = finished.stderr.splitlines()
    assert line.startswith("crawler: ")
    for word in words:
        assert word in line
    assert list(pages.iterdir()) == []


@pytest.mark.req("C1", "C5", "C6", "C7", "C10", "F8")
def test_a_crawl_from_the_command_line(command: Command, web: Web, pages: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["b.html", "http://elsewhere.test/"], title="Home")
    site.page("/b.html", links=["/"])
    base = web.base_url
    finished = command("crawler", f"{base}/", pages, 1, CRAWLER_INTERNAL=base, CRAWLER_FIRST_ID="0")
    assert finished.returncode == 0
    assert finished.stdout.splitlines() == [
        f" 0   Fetched: {base}/",
        f" 0     Saved: {base}/",
        f" 0  Scanning: {base}/",
        f" 0     Found: {base}/b.html",
        f" 0     Added: {base}/b.html",
        " 0     Found: http://elsewhere.test/",
        " 0  IgnExtrn: http://elsewhere.test/",
        f" 1    Fetched: {base}/b.html",
        f" 1      Saved: {base}/b.html",
    ]
    assert finished.stderr == f"crawler: 2 pages saved in {pages}\n"
    assert {entry.name for entry in pages.iterdir()} == {"0", "1"}
    assert (pages / "1").read_text().startswith(f"{base}/b.html\n1\n<")
    gap = min_gap_s(web.requests)
    assert gap is not None
    assert gap >= 1.0
    agent = web.requests[0].headers.get("user-agent")
    assert agent is not None
    assert re.fullmatch(r"Gossamer/\d+\.\d+\.\d+", agent)


@pytest.mark.req("C11", "C13")
def test_a_server_that_does_not_exist(command: Command, pages: Path) -> None:
    seed = "http://no-such-host.invalid/"
    finished = command("crawler", seed, pages, 1, CRAWLER_INTERNAL=seed)
    assert_failed(finished, pages, seed, "could not be resolved", "spelling")


@pytest.mark.req("C11", "C13")
def test_a_server_that_refuses(command: Command, pages: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # so that nobody else comes to listen there meanwhile
        seed = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        finished = command("crawler", seed, pages, 1, CRAWLER_INTERNAL=seed)
    assert_failed(finished, pages, seed, "refused", "check the host, the port")


@pytest.mark.req("C11", "C13")
def test_a_server_that_keeps_silent(command: Command, web: Web, pages: Path) -> None:
    web.site("a.test").raw("/robots.txt", KeepOpen())
    seed = f"{web.base_url}/"
    finished = command("crawler", seed, pages, 1, CRAWLER_INTERNAL=seed)
    assert_failed(finished, pages, seed, "said nothing", "try again later")


@pytest.mark.req("C11", "C13")
@pytest.mark.parametrize(
    ("status", "words"), [(404, "answered 404"), (500, "the server failed"), (403, "refused")]
)
def test_a_seed_page_that_does_not_exist(
    command: Command, web: Web, pages: Path, status: int, words: str
) -> None:
    web.site("a.test").status("/", status)
    seed = f"{web.base_url}/"
    assert_failed(command("crawler", seed, pages, 1, CRAWLER_INTERNAL=seed), pages, seed, words)


@pytest.mark.req("C11", "F4")
def test_a_robots_txt_that_cannot_be_had(command: Command, web: Web, pages: Path) -> None:
    site = web.site("a.test")
    site.status("/robots.txt", 503)
    site.page("/")
    seed = f"{web.base_url}/"
    finished = command("crawler", seed, pages, 1, CRAWLER_INTERNAL=seed)
    assert_failed(finished, pages, "robots.txt is unreachable", "503", "try again later")
    assert [record.path for record in web.requests] == ["/robots.txt"]


@pytest.mark.req("B6")
def test_a_name_with_a_private_address_needs_permission(
    command: Command, web: Web, pages: Path
) -> None:
    """`localhost.` with its dot is a name like any other, and resolves to a private address."""
    web.site("a.test").page("/")
    seed = f"http://localhost.:{web.address[1]}/"
    finished = command("crawler", seed, pages, 0, CRAWLER_INTERNAL=seed)
    assert_failed(finished, pages, seed, "is loopback", "GOSSAMER_ALLOW_NETWORK", "--allow-network")
    assert web.requests == []
    allowed = command(
        "crawler", seed, pages, 0, CRAWLER_INTERNAL=seed, GOSSAMER_ALLOW_NETWORK="::1,127.0.0.1/32"
    )
    assert allowed.returncode == 0


@pytest.mark.req("B6")
def test_a_private_seed_opens_its_own_port_only(command: Command, web: Web, pages: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.0)
        elsewhere = f"http://127.0.0.1:{trap.getsockname()[1]}/"
        site = web.site("a.test")
        site.page("/", links=["/away", elsewhere])
        site.redirect("/away", elsewhere)
        finished = command("crawler", web.base_url, pages, 2, CRAWLER_INTERNAL="http://127.0.0.1")
        assert finished.returncode == 2, "another port is another site"
        finished = command("crawler", web.base_url, pages, 2, CRAWLER_INTERNAL=web.base_url)
        assert finished.returncode == 0
        with pytest.raises(BlockingIOError):
            trap.accept()


@pytest.mark.req("C12")
def test_a_full_disk(command: Command, web: Web, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    try:
        site = web.site("a.test")
        site.page("/", links=["/big"])
        site.page("/big", html="x" * 100_000)
        finished = command("crawler", web.base_url, small, 1, CRAWLER_INTERNAL=web.base_url)
        assert finished.returncode == 1
        assert finished.stderr.splitlines() == [
            f"crawler: cannot write page 2 to {small}: No space left on device; "
            "the 1 pages before it are whole"
        ]
        assert [entry.name for entry in small.iterdir()] == ["1"]
        assert (small / "1").read_text().endswith("</html>\n")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def limited(limit: str, *arguments: object, **environment: str) -> CompletedProcess[str]:
    """Run the command under a limit of the operating system."""
    crawler = Path(sys.executable).with_name("crawler")
    script = f'ulimit {limit} && exec "$0" "$@"'
    return subprocess.run(
        ["bash", "-c", script, str(crawler), *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.req("C12")
def test_a_file_that_may_not_grow(web: Web, pages: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/big"])
    site.page("/big", html="x" * 100_000)
    finished = limited("-f 32", web.base_url, pages, 1, CRAWLER_INTERNAL=web.base_url)
    assert finished.returncode == 1
    assert "cannot write page 2" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert [entry.name for entry in pages.iterdir()] == ["1"]


@pytest.mark.req("C12")
def test_a_machine_without_memory(web: Web, pages: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/big"])
    huge = b"<p>" + b"x" * 60_000_000
    site.reply("/big", Reply(body=huge))
    # What the command needs before its first request, and not enough for the page on top.
    probe = "import gossamer.cli.classic; print(open('/proc/self/status').read())"
    status = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    needed_kb = int(re.findall(r"VmPeak:\s+(\d+)", status.stdout)[0])
    finished = limited(
        f"-v {needed_kb + 50_000}", web.base_url, pages, 1, CRAWLER_INTERNAL=web.base_url
    )
    assert finished.returncode == 1
    assert "out of memory" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert [entry.name for entry in pages.iterdir()] == ["1"]


def started(*arguments: object, **environment: str) -> "Popen[str]":
    """Start the command and let it run."""
    crawler = Path(sys.executable).with_name("crawler")
    return Popen(
        [str(crawler), *map(str, arguments)],
        env=os.environ | environment,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
    )


@pytest.mark.req("C7")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupting_leaves_whole_files_and_says_how_far_it_got(
    web: Web, pages: Path, number: signal.Signals
) -> None:
    site = web.site("a.test")
    site.page("/", links=["/b", "/c", "/d"])
    site.page("/b")
    site.raw("/c", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nhalf a page", KeepOpen())
    with started(web.base_url, pages, 1, CRAWLER_INTERNAL=web.base_url) as crawler:
        web.wait_for_requests(4, timeout_s=30)
        crawler.send_signal(number)
        _, errors = crawler.communicate(timeout=10)
    assert crawler.returncode == 130
    assert errors == (
        f"crawler: interrupted: 2 pages saved in {pages}, 2 URLs were still to visit; "
        "the files are whole\n"
    )
    assert sorted(entry.name for entry in pages.iterdir()) == ["1", "2"]


def test_a_reader_that_goes_away(web: Web, pages: Path) -> None:
    web.site("a.test").page("/", links=["/b"])
    with started(web.base_url, pages, 1, CRAWLER_INTERNAL=web.base_url) as crawler:
        assert crawler.stdout is not None
        assert crawler.stderr is not None
        crawler.stdout.close()
        errors = crawler.stderr.read()
    assert crawler.returncode == 1
    assert errors == "crawler: standard output was closed; the files written so far are whole\n"


def test_progress_is_seen_at_once_in_a_pipe(web: Web, pages: Path) -> None:
    site = web.site("a.test")
    site.page("/", links=["/slow"])
    site.raw("/slow", KeepOpen())
    with started(web.base_url, pages, 1, CRAWLER_INTERNAL=web.base_url) as crawler:
        assert crawler.stdout is not None
        assert crawler.stdout.readline() == f" 0   Fetched: {web.base_url}/\n"
        assert time.monotonic() > 0
        crawler.terminate()
        crawler.communicate(timeout=10)
