"""Only a server that proves who it is gets a request; there is no falling back to http."""

import asyncio
import datetime as dt
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from msgspec.structs import replace

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web

pytestmark = pytest.mark.req("D19")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trusting(authority: trustme.CA, tmp_path: Path, quick: FetchOptions) -> FetchOptions:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    return replace(quick, ca_file=file)


def context_for(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def fetch(web: Web, options: FetchOptions) -> Response:
    async def run() -> Response:
        policy = AddressPolicy.parse(["127.0.0.1"])
        async with Client(options, policy, web.dns) as client:
            return await client.fetch(Url(web.url("a.test")))

    return asyncio.run(run())


def test_a_certified_server_is_believed(authority: trustme.CA, trusting: FetchOptions) -> None:
    with Web(tls=context_for(authority.issue_cert("a.test"))) as web:
        web.site("a.test").page("/")
        response = fetch(web, trusting)
    assert (response.outcome, response.cause) == (Outcome.FETCHED, None)


def test_a_server_that_prefers_http_2_is_asked_for_http_1(
    authority: trustme.CA, trusting: FetchOptions
) -> None:
    context = context_for(authority.issue_cert("a.test"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    with Web(tls=context) as web:
        web.site("a.test").page("/")
        assert fetch(web, trusting).outcome is Outcome.FETCHED


def test_a_certificate_that_has_run_out_is_refused(
    authority: trustme.CA, trusting: FetchOptions
) -> None:
    yesterday = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    with Web(tls=context_for(authority.issue_cert("a.test", not_after=yesterday))) as web:
        web.site("a.test").page("/")
        assert_refused(fetch(web, trusting), web, "expired")


def test_a_certificate_of_another_host_is_refused(
    authority: trustme.CA, trusting: FetchOptions
) -> None:
    with Web(tls=context_for(authority.issue_cert("b.test"))) as web:
        web.site("a.test").page("/")
        assert_refused(fetch(web, trusting), web, "a.test")


def test_a_certificate_of_its_own_making_is_refused(trusting: FetchOptions) -> None:
    with Web(tls=context_for(trustme.CA().issue_cert("a.test"))) as web:
        web.site("a.test").page("/")
        assert_refused(fetch(web, trusting), web, "issuer")


def test_the_systems_certificates_are_the_default(
    authority: trustme.CA, quick: FetchOptions
) -> None:
    with Web(tls=context_for(authority.issue_cert("a.test"))) as web:
        web.site("a.test").page("/")
        assert_refused(fetch(web, quick), web, "issuer")


def assert_refused(response: Response, web: Web, word: str) -> None:
    assert (response.outcome, response.cause) == (Outcome.TLS_FAILED, Cause.CERTIFICATE_INVALID)
    assert word in response.detail
    assert web.requests == []


@pytest.fixture(params=[b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x15\x03\x03\0\2\2\x28"])
def without_handshake(request: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the port of a server that answers a handshake with something else and hangs up."""

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(10_000)
            connection.sendall(request.param)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=[listener])
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_a_broken_handshake_is_told(without_handshake: int, quick: FetchOptions) -> None:
    async def run() -> Response:
        async with Client(quick, AddressPolicy.parse(["127.0.0.1"])) as client:
            return await client.fetch(Url(f"https://127.0.0.1:{without_handshake}/"))

    response = asyncio.run(run())
    assert (response.outcome, response.cause) == (Outcome.TLS_FAILED, Cause.TLS_FAILED)


def test_old_versions_of_tls_are_refused(authority: trustme.CA, trusting: FetchOptions) -> None:
    context = context_for(authority.issue_cert("a.test"))
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with Web(tls=context) as web:
        web.site("a.test").page("/")
        response = fetch(web, trusting)
    assert (response.outcome, response.cause) == (Outcome.TLS_FAILED, Cause.TLS_FAILED)
