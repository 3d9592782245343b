"""How requests are made, by origin: header fields, logins, certificates, HTTP/2."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from tests.web.http2_server import http2_server
from tests.webs.http2_frames import field

from gossamer.config.request_values import Secret
from gossamer.download.client import Client
from gossamer.download.connections import ConnectionGroups
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import ConnectionSettings, ProxyLogin, RequestSettings
from gossamer.model import Cause, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web

PAGE = b"<!doctype html><title>Two</title><p>over HTTP/2"
STATUS_200 = b"\x88"  # RFC 7541, appendix A


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    return str(file)


def server_context(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.test", "b.test").configure_cert(context)
    return context


def fetch_all(
    web_dns: dict[str, str],
    settings_for: Callable[[Url], RequestSettings],
    requests: list[tuple[str, Accept]],
    options: FetchOptions,
) -> list[Response]:
    async def run() -> list[Response]:
        policy = AddressPolicy.parse(["127.0.0.1"])
        async with Client(options, policy, web_dns, settings_for) as client:
            return [await client.fetch(Url(url), accept) for url, accept in requests]

    return asyncio.run(run())


def test_fields_are_sent_as_given_and_each_once(web: Web, patient: FetchOptions) -> None:
    web.site("a.test").page("/")
    settings = RequestSettings(
        user_agent="Other/1",
        fields=(("X-Team", "search"), ("Accept", "text/plain"), ("accept-language", "de, en")),
        secret_fields=(("X-Key", Secret("geheim")),),
    )
    asked = [("http://a.test/", Accept.PAGE)]
    (response,) = fetch_all(dict(web.dns), lambda _: settings, asked, patient)
    (request,) = web.requests
    assert request.header.decode() == (
        "Host: a.test\r\nUser-Agent: Other/1\r\nAccept: text/plain\r\n"
        "Accept-Encoding: gzip, deflate, br, zstd\r\nX-Team: search\r\naccept-language: de, en\r\n"
        "X-Key: geheim"
    )
    # What is kept of it is the same without the secret.
    assert response.exchange is not None
    kept = request.header.replace(b"geheim", b"removed")
    assert response.exchange.request == b"GET / HTTP/1.1\r\n" + kept + b"\r\n\r\n"


def test_robots_txt_is_asked_for_without_secrets(web: Web, patient: FetchOptions) -> None:
    site = web.site("a.test")
    site.page("/")
    site.robots("")
    settings = RequestSettings(
        fields=(("X-Team", "search"),), secret_fields=(("Authorization", Secret("Bearer geheim")),)
    )
    asked = [("http://a.test/robots.txt", Accept.ANYTHING), ("http://a.test/", Accept.PAGE)]
    fetch_all(dict(web.dns), lambda _: settings, asked, patient)
    robots, page = web.requests
    assert b"geheim" not in robots.header
    assert robots.headers.get("x-team") == "search"
    assert page.headers.get("authorization") == "Bearer geheim"
    assert robots.connection == page.connection, "a login in a header is no property of the line"


def test_secrets_are_known_by_name_and_not_shown(web: Web) -> None:
    settings = RequestSettings(secret_fields=(("X-Key", Secret("geheim")),))
    assert settings.secret_names == {"x-key", "authorization", "proxy-authorization", "cookie"}
    assert "geheim" not in repr(settings)
    assert "geheim" not in f"{settings} {settings.secret_fields}"


def test_a_client_certificate_opens_a_door_and_its_line_is_not_shared(
    authority: trustme.CA, ca_file: str, tmp_path: Path, patient: FetchOptions
) -> None:
    mine = authority.issue_cert("me@client.test")
    cert, key = tmp_path / "me.pem", tmp_path / "me.key"
    mine.cert_chain_pems[0].write_to_path(cert)
    mine.private_key_pem.write_to_path(key)
    context = server_context(authority)
    context.verify_mode = ssl.CERT_OPTIONAL
    authority.configure_trust(context)
    known = ConnectionSettings(client_cert=str(cert), client_key=str(key), ca_file=ca_file)
    nobody = ConnectionSettings(ca_file=ca_file)
    with Web(tls=context) as web:
        for name in ("a.test", "b.test"):
            web.site(name).page("/")
        # Both names are one address and one certificate: libcurl may use one connection for both.
        settings = {"https://a.test/": known, "https://b.test/": nobody}
        asked = [(url, Accept.PAGE) for url in (*settings, *settings)]
        ended = fetch_all(
            dict(web.dns), lambda url: RequestSettings(connection=settings[url]), asked, patient
        )
        assert {one.outcome for one in ended} == {Outcome.FETCHED}
        lines = {name: {one.connection for one in web.requests_to(name)} for name in web.dns}
        assert lines["a.test"].isdisjoint(lines["b.test"])


def test_connections_are_in_other_hands_where_anything_about_them_differs() -> None:
    """Whatever the version of libcurl compares: each kind has its own."""
    kinds = [
        ConnectionSettings(),
        ConnectionSettings(proxy="http://p.test:1"),
        ConnectionSettings(proxy="http://p.test:1", proxy_login=ProxyLogin("me", Secret("a"))),
        ConnectionSettings(proxy="http://p.test:1", proxy_login=ProxyLogin("me", Secret("b"))),
        ConnectionSettings(client_cert="a.pem"),
        ConnectionSettings(client_cert="a.pem", client_key="b.key"),
        ConnectionSettings(ca_file="ca.pem"),
        ConnectionSettings(http2=True),
    ]

    async def run() -> None:
        def settings_for(url: Url) -> RequestSettings:
            number = int(url.removeprefix("http://a").partition(".")[0])
            return RequestSettings(connection=kinds[number % len(kinds)], fields=(("X", url),))

        groups = ConnectionGroups(FetchOptions(), settings_for)
        urls = [Url(f"http://a{n}.test/") for n in range(2 * len(kinds))]
        chosen = [groups.choose(url, Accept.PAGE) for url in urls]
        assert len({id(group.multi) for group in chosen}) == len(kinds)
        assert len({id(group.handles) for group in chosen}) == len(urls)
        groups.close()

    asyncio.run(run())


def test_a_server_that_wants_a_certificate_gets_it_for_robots_txt_too(
    authority: trustme.CA, ca_file: str, tmp_path: Path, patient: FetchOptions
) -> None:
    both = tmp_path / "both.pem"
    both.write_bytes(authority.issue_cert("me@client.test").private_key_and_cert_chain_pem.bytes())
    context = server_context(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    with Web(tls=context) as web:
        web.site("a.test").page("/")
        asked = [("https://a.test/robots.txt", Accept.ANYTHING), ("https://a.test/", Accept.PAGE)]
        known = ConnectionSettings(client_cert=str(both), ca_file=ca_file)
        nobody = ConnectionSettings(ca_file=ca_file)
        ended = [
            fetch_all(
                dict(web.dns),
                lambda _, one=connection: RequestSettings(connection=one),  # type: ignore[misc]
                asked,
                patient,
            )
            for connection in (nobody, known)
        ]
        assert {one.status for one in ended[0]} == {None}, "nobody is let in"
        assert [one.outcome for one in ended[1]] == [Outcome.NOT_FOUND, Outcome.FETCHED]


def test_http_2_is_spoken_with_who_offers_it(
    authority: trustme.CA, ca_file: str, patient: FetchOptions
) -> None:
    head = STATUS_200 + field(b"content-type", b"text/html") + field(b"x-two", b"yes")
    settings = RequestSettings(connection=ConnectionSettings(http2=True, ca_file=ca_file))
    with http2_server(server_context(authority), head, PAGE) as server:
        dns = {"a.test": f"127.0.0.1:{server.port}"}
        asked = [("https://a.test/one", Accept.PAGE), ("https://a.test/two", Accept.PAGE)]
        ended = fetch_all(dns, lambda _: settings, asked, patient)
        assert [one.outcome for one in ended] == [Outcome.FETCHED] * 2, ended[0].detail
        assert [(one.status, one.body, one.headers.get("x-two")) for one in ended] == [
            (200, PAGE, "yes")
        ] * 2
        assert (server.connections, server.requests) == (1, 2)
        assert ended[0].exchange is not None
        assert ended[0].exchange.head.startswith(b"HTTP/1.1 200 \r\ncontent-type: text/html\r\n")
    with Web(tls=server_context(authority)) as web:  # which speaks HTTP/1.1 only
        web.site("a.test").page("/")
        (page,) = fetch_all(
            dict(web.dns), lambda _: settings, [("https://a.test/", Accept.PAGE)], patient
        )
        assert page.outcome is Outcome.FETCHED


def test_what_is_not_http_2_is_told(
    authority: trustme.CA, ca_file: str, patient: FetchOptions
) -> None:
    settings = RequestSettings(connection=ConnectionSettings(http2=True, ca_file=ca_file))
    with http2_server(server_context(authority), b"\xff" * 40, PAGE) as server:
        (page,) = fetch_all(
            {"a.test": f"127.0.0.1:{server.port}"},
            lambda _: settings,
            [("https://a.test/", Accept.PAGE)],
            patient,
        )
        assert (page.outcome, page.cause) == (Outcome.BAD_HTTP, Cause.BAD_HTTP), page.detail


def test_a_status_line_of_http_2_is_no_answer_of_http_1(web: Web, patient: FetchOptions) -> None:
    web.site("a.test").raw("/", b"HTTP/2 200 OK\r\nContent-Type: text/html\r\n\r\nx")
    (page,) = fetch_all(
        dict(web.dns), lambda _: RequestSettings(), [("http://a.test/", Accept.PAGE)], patient
    )
    assert page.outcome is Outcome.BAD_HTTP
