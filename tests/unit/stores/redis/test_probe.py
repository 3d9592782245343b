"""What is found out about real servers, and about what is none."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trustme
from redis_servers import StartServer, wait_until
from tcp_proxy import TcpProxy

from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.checks import check
from gossamer.stores.redis.connection import ServerFinding

LOOPBACK = "127.0.0.1"
TCP = ("port",)
SOUND = ("appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction")
every_server = pytest.mark.parametrize(
    "start_redis", ["redis-server", "valkey-server"], indirect=True
)
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def found(url: str, patience_s: float = 5.0) -> list[ServerFinding]:
    return check(parse_address(url), patience_s=patience_s)


def only(findings: list[ServerFinding]) -> ServerFinding:
    (finding,) = findings
    return finding


def refusal(url: str, patience_s: float = 5.0) -> str:
    finding = only(found(url, patience_s))
    assert finding.severity == "refuse"
    return str(finding)


def warning(url: str) -> str:
    finding = only(found(url))
    assert finding.severity == "warn"
    return str(finding)


def found_at(answer: Answer, before: str = "redis://", patience_s: float = 5.0) -> ServerFinding:
    """Return what is said of a server that answers like this."""

    served: list[asyncio.Task[None]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            await answer(reader, writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.create_task(serve(reader, writer)))

    async def run() -> ServerFinding:
        server = await asyncio.start_server(accept, LOOPBACK, 0)
        port = server.sockets[0].getsockname()[1]
        async with server, contextlib.AsyncExitStack() as ending:
            ending.push_async_callback(lambda: asyncio.gather(*served))
            address = parse_address(f"{before}{LOOPBACK}:{port}")
            return (await asyncio.to_thread(check, address, patience_s=patience_s))[0]

    return asyncio.run(run())


def resp_server(info: str) -> Answer:
    """Return a server that has nothing but INFO to say."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                count = int((await reader.readuntil(b"\r\n"))[1:])
                words = []
                for _ in range(count):
                    size = int((await reader.readuntil(b"\r\n"))[1:])
                    words.append((await reader.readexactly(size + 2))[:-2].upper())
                body = info.encode()
                known = b"$%d\r\n%s\r\n" % (len(body), body)
                writer.write(known if words[0] == b"INFO" else b"-ERR unknown command\r\n")

    return answer


@every_server
def test_a_sound_server_is_taken(start_redis: StartServer) -> None:
    assert found(start_redis(*SOUND, ports=TCP).tcp_url) == []


def test_a_unix_socket_is_taken(start_redis: StartServer) -> None:
    url = start_redis(*SOUND).url
    assert url.startswith("unix:///")
    assert found(url) == []


def test_nobody_there() -> None:
    finding = only(found(f"redis://{LOOPBACK}:1"))
    assert finding.what == "127.0.0.1:1 cannot be reached (Connection refused)"
    assert finding.passing, "it may be starting"
    assert "reached (No such file or directory)" in refusal("unix:///no/such/socket")
    assert "name.invalid:6379 cannot be reached" in refusal("redis://name.invalid")


@every_server
def test_passwords(start_redis: StartServer) -> None:
    passwords = ("requirepass s3cret", "user bob on >builder ~* +@all")
    port = start_redis(*SOUND, *passwords, ports=TCP).port
    assert found(f"redis://:s3cret@{LOOPBACK}:{port}") == []
    assert found(f"redis://bob:builder@{LOOPBACK}:{port}") == []
    assert "wants a password" in refusal(f"redis://{LOOPBACK}:{port}")
    wrong = refusal(f"redis://:wr0ng@{LOOPBACK}:{port}")
    assert "did not accept the password of the default user" in wrong
    assert "wr0ng" not in wrong
    assert "of the user bob" in refusal(f"redis://bob:wr0ng@{LOOPBACK}:{port}")


def test_a_password_that_the_server_does_not_ask_for(start_redis: StartServer) -> None:
    port = start_redis(*SOUND, ports=TCP).port
    assert "the server has none" in refusal(f"redis://:s3cret@{LOOPBACK}:{port}")


def test_a_server_that_quotes_the_password() -> None:
    async def quote(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        told = (await reader.read(1000)).decode().split()
        writer.write(f"-ERR unknown command, args beginning with: {told}\r\n".encode())

    finding = found_at(quote, before="redis://:s3cret@")
    assert "refused the first command" in finding.what
    assert "***" in finding.what
    assert "s3cret" not in str(finding)


def test_a_user_who_may_not_ask(start_redis: StartServer) -> None:
    server = start_redis(*SOUND, "user bob on >pw ~* +get +select")
    assert "may not use INFO" in refusal(server.url.replace("//", "//bob:pw@", 1))


def test_a_database_that_is_not_there(start_redis: StartServer) -> None:
    assert "no database 99" in refusal(f"{start_redis(*SOUND, ports=TCP).tcp_url}/99")


def test_a_web_server_is_no_redis() -> None:
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    finding = found_at(http)
    assert "is not a Redis" in finding.what
    assert not finding.passing
    assert "does not speak TLS" in found_at(http, before="rediss://").what


@pytest.mark.parametrize("info", ["", "redis_version:\r\n", "<html>", "redis_version:x\r\n"])
def test_what_answers_nonsense_is_no_redis(info: str) -> None:
    assert "is not a Redis" in found_at(resp_server(info)).what


def test_a_silent_server_is_not_waited_for() -> None:
    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    finding = found_at(silent, patience_s=0.2)
    assert "did not answer within 0.2 s" in finding.what
    assert finding.passing
    assert "whether it speaks TLS" in found_at(silent, before="rediss://", patience_s=0.2).remedy


@pytest.mark.parametrize("after_bytes", [0, 1000])
def test_a_server_that_hangs_up(after_bytes: int) -> None:
    asked: list[bytes] = []

    async def hang_up(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(after_bytes))

    finding = found_at(hang_up)
    assert len(asked) == 1, "a start-up check does not keep knocking"
    assert "closed the connection at once" in finding.what
    assert "TLS" in finding.remedy


def test_a_server_that_stops_in_the_middle(start_redis: StartServer) -> None:
    server = start_redis(*SOUND, ports=TCP)

    async def run() -> ServerFinding:
        async with TcpProxy((LOOPBACK, server.port)) as proxy:
            proxy.pause()
            address = parse_address(f"redis://{LOOPBACK}:{proxy.port}")
            return only(await asyncio.to_thread(check, address, patience_s=0.2))

    assert "did not answer" in asyncio.run(run()).what


@pytest.mark.parametrize("version", ["6.2.14", "5.0.14", "2.8.4"])
def test_an_old_server_is_told_its_version(version: str) -> None:
    finding = found_at(resp_server(f"# Server\r\nredis_version:{version}\r\naof_enabled:1\r\n"))
    assert finding.what == f"Redis {version} is too old"


def test_a_server_that_loads(start_redis: StartServer, tmp_path: Path) -> None:
    folder = tmp_path / "loading"
    with start_redis(folder=folder).client as client:
        client.config_set("rdbcompression", "no")
        client.mset({f"key{number}": "x" * 1000 for number in range(1000)})
        client.save()
    slow = ("key-load-delay 20000", "loading-process-events-interval-bytes 1024")
    finding = only(found(start_redis(*slow, folder=folder).url))
    assert "still loading" in finding.what
    assert finding.passing


@every_server
def test_a_replica_is_refused(start_redis: StartServer) -> None:
    primary = start_redis(*SOUND, ports=TCP)
    replica = start_redis(*SOUND, f"replicaof {LOOPBACK} {primary.port}")
    assert "is a replica" in refusal(replica.url)


@every_server
def test_without_an_append_only_file(start_redis: StartServer) -> None:
    assert "loses the whole crawl" in warning(start_redis().url)
    server = start_redis("save 900 1", "save 60 1000")
    assert "loses up to the last 900 s of work" in warning(server.url)


@every_server
def test_fsync_left_to_the_kernel(start_redis: StartServer) -> None:
    server = start_redis("appendonly yes", "appendfsync no")
    assert "the last 35 s" in warning(server.url)
    server = start_redis("appendonly yes", "no-appendfsync-on-rewrite yes")
    assert "during a rewrite" in warning(server.url)


def test_a_server_that_forgets(start_redis: StartServer) -> None:
    server = start_redis(*SOUND, "maxmemory 100mb", "maxmemory-policy allkeys-lru")
    assert "noeviction" in refusal(server.url)


@every_server
def test_a_server_that_is_full(start_redis: StartServer) -> None:
    server = start_redis(*SOUND, "maxmemory 100mb")
    with server.client as client:
        for number in range(500):
            client.set(f"filling{number}", b"x" * 100_000)
        # What is still to be written to a busy disk counts as used.
        wait_until(lambda: client.info("persistence").get("aof_buffer_length", 0) == 0)
        used = int(client.info("memory")["used_memory"])
        client.config_set("maxmemory", int(used / 0.95))
        assert "95% of maxmemory" in refusal(server.url)
        client.config_set("maxmemory", int(used / 0.80))
        assert "80% of maxmemory" in warning(server.url)


@pytest.mark.parametrize("hiding", ['rename-command CONFIG ""', "user default on nopass ~* +info"])
def test_without_config_it_is_said_what_was_not_checked(
    start_redis: StartServer, hiding: str
) -> None:
    server = start_redis(*SOUND, hiding)
    assert "appendfsync could not be checked" in warning(server.url)


def test_tls(start_redis: StartServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert(LOOPBACK)
    pems = {
        "ca": authority.cert_pem,
        "cert": issued.cert_chain_pems[0],
        "key": issued.private_key_pem,
    }
    files = {name: tmp_path / f"{name}.pem" for name in pems}
    for name, pem in pems.items():
        pem.write_to_path(str(files[name]))
    tls = (
        *("tls-auth-clients no", f"tls-ca-cert-file {files['ca']}"),
        *(f"tls-cert-file {files['cert']}", f"tls-key-file {files['key']}"),
    )
    server = start_redis(*SOUND, *tls, ports=(*TCP, "tls-port"))
    port = server.ports["tls-port"]
    assert "is not trusted" in refusal(f"rediss://{LOOPBACK}:{port}")
    assert "whether it wants TLS" in refusal(f"redis://{LOOPBACK}:{port}")
    assert "speaks TLS" in refusal(f"rediss://{LOOPBACK}:{server.port}", patience_s=0.5)
    monkeypatch.setenv("SSL_CERT_FILE", str(files["ca"]))
    assert found(f"rediss://{LOOPBACK}:{port}") == []
    watch = f"sentinel monitor crawls {LOOPBACK} {port} 1"
    sentinel = start_redis(
        *(*tls, "tls-replication yes", watch), ports=(*TCP, "tls-port"), arguments=["--sentinel"]
    )
    places = f"{LOOPBACK}:{server.port},{LOOPBACK}:{sentinel.ports['tls-port']}"
    assert found(f"rediss+sentinel://{places}/crawls") == []


def test_sentinels_and_servers_have_passwords_of_their_own(start_redis: StartServer) -> None:
    server = start_redis(*SOUND, "requirepass one", ports=TCP)
    sentinel = start_redis(
        f"sentinel monitor crawls {LOOPBACK} {server.port} 1",
        *("sentinel auth-pass crawls one", "requirepass two"),
        ports=TCP,
        arguments=["--sentinel"],
    )
    dead = f"{LOOPBACK}:1"
    places = f"{dead},{LOOPBACK}:{sentinel.port}"
    good = f"redis+sentinel://:one@{places}/crawls?sentinel_password=two"
    assert found(good) == []
    refused = "did not accept the password of the default user"
    assert refused in refusal(good.replace("one", "other"))
    assert "wants another password" in refusal(good.replace("two", "other").replace(f"{dead},", ""))
    unknown = refusal(good.replace("/crawls", "/pages").replace(f"{dead},", ""))
    assert f"the primary pages of the Sentinels {LOOPBACK}:{sentinel.port}" in unknown
    assert "does not know pages" in unknown
    assert "Connection refused" in refusal(f"redis+sentinel://{dead}/crawls")
