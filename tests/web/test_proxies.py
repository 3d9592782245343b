"""Requests through proxies: what the proxy is told, and what the address guard still refuses."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme
from tests.web.proxies import HttpHandler, Proxy, SocksHandler, running

from gossamer.config.request_values import Secret
from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.download.request_settings import ConnectionSettings, ProxyLogin, RequestSettings
from gossamer.model import Cause, NameTable, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web

PASSWORD = "hunter2"  # noqa: S105 -- the tests' own
LOGIN = ProxyLogin("me", Secret(PASSWORD))


def through(
    proxy: str, login: ProxyLogin | None = None, ca_file: str | None = None
) -> RequestSettings:
    connection = ConnectionSettings(proxy=proxy, proxy_login=login, ca_file=ca_file)
    return RequestSettings(connection=connection)


def fetch_all(
    settings_for: Callable[[Url], RequestSettings],
    urls: list[str],
    options: FetchOptions,
    *,
    policy: AddressPolicy | None = None,
    dns: NameTable | None = None,
) -> list[Response]:
    async def run() -> list[Response]:
        addresses = policy or AddressPolicy.parse(["127.0.0.1"])
        async with Client(options, addresses, dns, settings_for) as client:
            return [await client.fetch(Url(url)) for url in urls]

    return asyncio.run(run())


@pytest.fixture
def http_proxy(web: Web) -> Iterator[Proxy]:
    web.site("a.test").page("/", text="through a proxy")
    with running(HttpHandler, a_test=web.address) as proxy:
        yield proxy


@pytest.fixture
def socks(web: Web) -> Iterator[Proxy]:
    web.site("a.test").page("/", text="through a proxy")
    with running(SocksHandler, a_test=web.address) as proxy:
        yield proxy


def test_an_http_proxy_is_asked_for_the_url(
    web: Web, http_proxy: Proxy, patient: FetchOptions
) -> None:
    settings = through(f"http://127.0.0.1:{http_proxy.port}", LOGIN)
    first, second = fetch_all(lambda _: settings, ["http://a.test/"] * 2, patient, dns=web.dns)
    assert (first.outcome, second.outcome) == (Outcome.FETCHED, Outcome.FETCHED)
    assert first.address is None, "the host's address is not known to us"
    assert http_proxy.connections == 1, "the connection is kept"
    assert http_proxy.heads[0].startswith(b"GET http://a.test/ HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic bWU6aHVudGVyMg==\r\n" in http_proxy.heads[0]
    assert b"roxy" not in web.requests[0].header


def test_https_goes_through_a_tunnel_and_the_proxy_sees_none_of_our_fields(
    patient: FetchOptions, tmp_path: Path
) -> None:
    authority, file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.test").configure_cert(context)
    with Web(tls=context) as web, running(HttpHandler, a_test=web.address) as proxy:
        web.site("a.test").page("/")
        settings = RequestSettings(
            connection=ConnectionSettings(
                proxy=f"http://127.0.0.1:{proxy.port}", proxy_login=LOGIN, ca_file=str(file)
            ),
            secret_fields=(("Authorization", Secret("Bearer geheim")),),
        )
        (response,) = fetch_all(lambda _: settings, ["https://a.test/"], patient, dns=web.dns)
        assert (response.outcome, response.headers.get("x-proxy")) == (Outcome.FETCHED, None)
        (head,) = proxy.heads
        assert head.startswith(b"CONNECT a.test:443 HTTP/1.1\r\n")
        assert b"geheim" not in head
        assert b"Proxy-Authorization: Basic" in head
        assert web.requests[0].headers.get("authorization") == "Bearer geheim"
        assert b"roxy" not in web.requests[0].header


def test_a_proxy_may_speak_tls_itself(web: Web, patient: FetchOptions, tmp_path: Path) -> None:
    authority, file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    web.site("a.test").page("/")
    with running(HttpHandler, a_test=web.address) as proxy:
        proxy.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(proxy.tls)
        address = f"https://127.0.0.1:{proxy.port}"
        trusted, untrusted = (
            fetch_all(lambda _, s=s: s, ["http://a.test/"], patient, dns=web.dns)[0]  # type: ignore[misc]
            for s in (through(address, ca_file=str(file)), through(address))
        )
    assert trusted.outcome is Outcome.FETCHED
    assert untrusted.cause is Cause.CERTIFICATE_INVALID


@pytest.mark.parametrize(
    ("scheme", "told"), [("socks5", "address 127.0.0.1:80"), ("socks5h", "name a.test:80")]
)
def test_a_socks_proxy_is_told_a_judged_address_or_the_name(
    web: Web, socks: Proxy, patient: FetchOptions, scheme: str, told: str
) -> None:
    socks.names["127.0.0.1"] = web.address  # on whatever port
    settings = through(f"{scheme}://127.0.0.1:{socks.port}")
    table = {"a.test": ["127.0.0.1"]}
    (response,) = fetch_all(lambda _: settings, ["http://a.test/"], patient, dns=table)
    assert response.outcome is Outcome.FETCHED
    assert socks.heads == [told.encode()]


def test_the_proxy_finds_no_name_that_we_do_not_find(socks: Proxy, patient: FetchOptions) -> None:
    """Its address could not be judged; a host that the operator allows by name is not judged."""
    settings = through(f"socks5h://127.0.0.1:{socks.port}")
    for policy, outcome in (([], Outcome.DNS_FAILED), (["a.test"], Outcome.FETCHED)):
        (response,) = fetch_all(
            lambda _: settings,
            ["http://a.test/"],
            patient,
            policy=AddressPolicy.parse(policy),
            dns={},
        )
        assert response.outcome is outcome
    assert socks.heads == [b"name a.test:80"]


@pytest.mark.req("B6")
@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "https://10.0.0.1/",
        "http://b.test/",
    ],
)
def test_a_proxy_does_not_lead_into_a_private_network(
    patient: FetchOptions, scheme: str, url: str
) -> None:
    """The proxy is on a private address itself, which the operator named; the target is not."""
    handler = HttpHandler if scheme == "http" else SocksHandler
    with running(handler) as proxy:
        settings = through(f"{scheme}://127.0.0.1:{proxy.port}")
        (response,) = fetch_all(
            lambda _: settings,
            [url],
            patient,
            policy=AddressPolicy(),
            dns={"b.test": ["203.0.113.5", "192.168.7.7"]},
        )
        assert response.outcome is Outcome.ADDRESS_REFUSED
        assert proxy.connections == 0


def test_a_login_to_a_socks_proxy_is_shared_with_nobody(
    web: Web, socks: Proxy, patient: FetchOptions
) -> None:
    """Two hosts, one proxy, two logins: the connection of one is not used for the other."""
    socks.login = ("me", PASSWORD)
    socks.names["b.test"] = web.address
    web.site("b.test").page("/")
    address = f"socks5h://127.0.0.1:{socks.port}"

    def settings_for(url: Url) -> RequestSettings:
        wrong = ProxyLogin("me", Secret("wrong"))
        return through(address, LOGIN if "a.test" in url else wrong)

    urls = ["http://a.test/", "http://b.test/", "http://a.test/"]
    ended = fetch_all(settings_for, urls, patient, dns=web.dns)
    assert [one.outcome for one in ended] == [
        Outcome.FETCHED,
        Outcome.CONNECTION_FAILED,
        Outcome.FETCHED,
    ]
    assert ended[1].cause is Cause.PROXY_FAILED
    assert "wrong" not in ended[1].detail


def test_a_login_to_an_http_proxy_is_shared_with_nobody(
    web: Web, http_proxy: Proxy, patient: FetchOptions
) -> None:
    address = f"http://127.0.0.1:{http_proxy.port}"
    http_proxy.names["b.test"] = web.address
    web.site("b.test").page("/")
    urls = ["http://a.test/", "http://b.test/"]
    fetch_all(
        lambda url: through(address, LOGIN if "a.test" in url else None),
        urls,
        patient,
        dns=web.dns,
    )
    assert [b"Proxy-Authorization" in head for head in http_proxy.heads] == [True, False]
    assert http_proxy.connections == 2


@pytest.mark.parametrize("url", ["https://a.test/", "http://a.test/"])
def test_a_proxy_that_is_not_there_or_refuses_is_named(
    web: Web, http_proxy: Proxy, patient: FetchOptions, url: str
) -> None:
    http_proxy.refusal = b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"
    refused = through(f"http://127.0.0.1:{http_proxy.port}")
    with running(HttpHandler) as gone:
        away = through(f"http://127.0.0.1:{gone.port}")
    unknown = through("http://proxy.invalid:3128")
    for settings in (refused, away, unknown):
        (response,) = fetch_all(
            lambda _, one=settings: one,  # type: ignore[misc]
            [url],
            patient,
            dns=web.dns,
        )
        found = response.outcome, response.cause
        assert found == (Outcome.CONNECTION_FAILED, Cause.PROXY_FAILED), response.detail


def test_the_environment_names_no_proxy(
    web: Web, http_proxy: Proxy, patient: FetchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{http_proxy.port}")
    (response,) = fetch_all(lambda _: RequestSettings(), ["http://a.test/"], patient, dns=web.dns)
    assert response.outcome is Outcome.FETCHED
    assert http_proxy.connections == 0
    monkeypatch.setenv("no_proxy", "*")
    settings = through(f"http://127.0.0.1:{http_proxy.port}")
    fetch_all(lambda _: settings, ["http://a.test/"], patient, dns=web.dns)
    assert http_proxy.connections == 1
