"""Who gets our secrets: the origins they are for, and nobody and nothing else."""

import base64
import gzip
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from redis_servers import redis_program
from tests.cli.conftest import Command
from tests.web.proxies import HttpHandler, running

from gossamer.testing import Pause, Reply, Web

LOGIN, KEY = "me:l0ginsecret", "k3ysecret"
SECRETS = (*LOGIN.split(":")[1:], KEY, base64.b64encode(LOGIN.encode()).decode())
ENVIRONMENT = {"SITE_LOGIN": LOGIN, "SITE_KEY": KEY}
ASKING = ("--auth", "env:SITE_LOGIN", "--secret-header", "X-Api-Key: env:SITE_KEY")
OPEN = ("--allow-network", "127.0.0.1", "--allow-network", "localhost", "--delay", "0s")


def files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def assert_secret_free(said: bytes, where: object) -> None:
    for secret in SECRETS:
        assert secret.encode() not in said, where


@pytest.fixture
def other() -> Iterator[Web]:
    """Another origin: the same address, another port."""
    with Web() as running:
        running.site("other").page("/", title="other")
        running.site("other").page("/from-redirect", title="other, redirected to")
        yield running


@pytest.mark.parametrize("store", ["sqlite:", "redis:"])
def test_a_secret_goes_to_its_origin_and_nowhere_else(
    web: Web, other: Web, tmp_path: Path, store: str
) -> None:
    port = web.address[1]
    site = web.site("home")
    site.robots("User-agent: *\nDisallow: /private\n")
    named = f"http://localhost:{port}/named"
    site.page("/", links=["/slow", "/away", f"{other.base_url}/", named, "/bad"], title="home")
    site.page("/named", title="the same server by another name")
    site.redirect("/away", f"{other.base_url}/from-redirect")
    site.status("/bad", 401, {"WWW-Authenticate": 'Basic realm="x"'})
    # It takes long enough for us to look around.
    site.raw("/slow", Pause(1.0), b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>slow")
    command = [str(Path(sys.executable).with_name("gossamer")), "crawl", f"{web.base_url}/"]
    command += ["--dir", "crawl", "--store", store, "--scope", "any", "--verbose", *OPEN, *ASKING]
    command += ["--host-connections", "4", "--log-format", "json"]
    command += ["--output", "pages.jsonl", "--output", "pages.warc.gz"]
    programs = tmp_path.with_name(f"{tmp_path.name}-bin")
    programs.mkdir()
    programs.joinpath("redis-server").symlink_to(redis_program())
    search = f"{programs}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | ENVIRONMENT | {"PATH": search},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as run:
        web.wait_for_requests(3, 30)  # the first page has come, and others are on their way
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                assert_secret_free(path.read_bytes(), path)
            except OSError:  # it has ended
                continue
        said, _ = run.communicate(timeout=50)
    assert run.returncode == 0, said
    assert_secret_free(said, "what it says")
    for path in files_below(tmp_path):
        assert_secret_free(path.read_bytes(), path)
    archived = gzip.decompress((tmp_path / "pages.warc.gz").read_bytes())
    assert_secret_free(archived, "the archive")
    assert b"\r\nX-Api-Key: removed\r\nAuthorization: removed\r\n" in archived
    basic = f"Basic {base64.b64encode(LOGIN.encode()).decode()}"
    got = {
        (record.headers.get("host"), record.path): (
            record.headers.get("authorization"),
            record.headers.get("x-api-key"),
        )
        for record in (*web.requests, *other.requests)
    }
    home = f"127.0.0.1:{port}"
    with_secrets = {(home, path) for path in ("/", "/slow", "/away", "/bad")}
    assert {key for key, found in got.items() if found == (basic, KEY)} == with_secrets
    assert {key for key, found in got.items() if found == (None, None)} == {
        (home, "/robots.txt"),
        (f"localhost:{port}", "/robots.txt"),
        (f"localhost:{port}", "/named"),
        (f"127.0.0.1:{other.address[1]}", "/robots.txt"),
        (f"127.0.0.1:{other.address[1]}", "/"),
        (f"127.0.0.1:{other.address[1]}", "/from-redirect"),
    }


def test_a_secret_is_read_again_when_the_crawl_goes_on(web: Web, gossamer: Command) -> None:
    site = web.site("home")
    site.page("/", links=["/b"])
    site.page("/b")
    first = ("crawl", f"{web.base_url}/", "--dir", "c", "--max-pages", "1", *OPEN, *ASKING)
    without = gossamer(*first, SITE_KEY=KEY)
    assert without.returncode == 2
    assert "auth needs the environment variable SITE_LOGIN" in without.stderr
    assert web.requests == []
    assert gossamer(*first, **ENVIRONMENT).returncode == 0
    asked = len(web.requests)
    again = gossamer("resume", "c", "--max-pages", "5", SITE_LOGIN=LOGIN)
    assert again.returncode == 2
    assert "secret-header X-Api-Key needs the environment variable SITE_KEY" in again.stderr
    assert len(web.requests) == asked
    more = {"SITE_LOGIN": "t0ken", "SITE_KEY": "new"}
    assert gossamer("resume", "c", "--max-pages", "5", **more).returncode == 0
    assert web.requests[-1].headers.get("authorization") == "Bearer t0ken"
    assert web.requests[-1].headers.get("x-api-key") == "new"


def test_a_rule_is_for_its_host(web: Web, gossamer: Command, tmp_path: Path) -> None:
    port = web.address[1]
    site = web.site("home")
    site.page("/", links=[f"http://localhost:{port}/there"])
    site.page("/there", title="there")
    (tmp_path / "token").write_text("f1le-token\n", encoding="utf-8")
    (tmp_path / "crawl.toml").write_text(
        f"""
        header = ["X-Team: seeds"]
        [host.localhost]
        user-agent = "Other/1.0"
        [host."http://localhost:{port}"]
        auth = "file:token"
        header = ["X-Team: there"]
        """,
        encoding="utf-8",
    )
    words = ("--config", "crawl.toml", "--scope", "any", *OPEN)
    run = gossamer("crawl", f"{web.base_url}/", "--dir", "c", *words)
    assert run.returncode == 0, run.stderr
    sent = {record.path: record.headers for record in web.requests if "robots" not in record.path}
    assert (sent["/"].get("x-team"), sent["/"].get("authorization")) == ("seeds", None)
    assert (sent["/there"].get("x-team"), sent["/there"].get("authorization")) == (
        "there",
        "Bearer f1le-token",
    )
    assert sent["/there"].get("user-agent") == "Other/1.0"
    shown = gossamer("config", f"{web.base_url}/", *words, "--host", f"http://localhost:{port}")
    lines = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert f'[host."http://localhost:{port}"], crawl.toml' in lines["auth"]
    assert '[host."localhost"], crawl.toml' in lines["user-agent"]
    assert "X-Team: there" in lines["header"]
    withheld = gossamer("config", *words, "--host", f"http://localhost:{port + 1}").stdout
    assert "f1le-token" not in shown.stdout + withheld


def test_a_shared_worker_needs_the_secrets_itself(
    web: Web, gossamer: Command, redis_url: str, tmp_path: Path
) -> None:
    web.site("home").page("/", title="home")
    shared = ("--store", redis_url, "--name", f"asking-{tmp_path.name}")
    words = ("crawl", f"{web.base_url}/", *shared, "--workers", "0", *OPEN, *ASKING)
    command = [str(Path(sys.executable).with_name("gossamer")), *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as crawl:  # without the secrets: it makes no requests
        without = gossamer("worker", *shared)
        assert without.returncode == 2, without.stderr
        assert "set it for each process that makes requests" in without.stderr
        assert web.requests == []
        joined = gossamer("worker", *shared, **ENVIRONMENT)
        assert joined.returncode == 0, joined.stderr
        assert crawl.wait(30) == 0
    assert web.requests[-1].headers.get("x-api-key") == KEY


def test_certificates_and_a_proxy_by_options(gossamer: Command, tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    mine = authority.issue_cert("me@client.test")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "me.pem")
    mine.private_key_pem.write_to_path(tmp_path / "me.key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    with Web(tls=context) as web, running(HttpHandler) as proxy:
        web.site("home").reply("/", Reply(body="<title>inside</title>"))
        words = ["crawl", f"{web.base_url}/", "--ca-file", "ca.pem", "--client-cert", "me.pem"]
        words += ["--proxy", f"http://127.0.0.1:{proxy.port}", "--proxy-auth", "env:SITE_LOGIN"]
        wrong = gossamer(*words, "--dir", "a", "--client-key", "ca.pem", **ENVIRONMENT)
        assert wrong.returncode == 2
        assert "do not go together" in wrong.stderr
        run = gossamer(*words, "--dir", "b", "--client-key", "me.key", **ENVIRONMENT)
        assert run.returncode == 0, run.stderr
        assert [head.split()[0] for head in proxy.heads] == [b"CONNECT"]
        assert b"Proxy-Authorization: Basic " in proxy.heads[0]
        assert [record.path for record in web.requests] == ["/robots.txt", "/"]
    for path in files_below(tmp_path / "b"):
        assert_secret_free(path.read_bytes(), path)
