import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model import Url
from gossamer.model.errors import UsageError
from gossamer.policy.addresses import AddressPolicy

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2001:200::1",
    "2a00::1",
    "2620:fe::fe",
    # Public all the way through.
    "::ffff:8.8.8.8",
    "::8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
    "2001:0:808:808:0:0:f7f7:f7f7",  # Teredo: server 8.8.8.8, client 8.8.8.8
    "2001:4860::5efe:8.8.8.8",  # ISATAP
]

REFUSED = {
    "0.0.0.0": "this network",  # noqa: S104 - nobody binds to it
    "0.1.2.3": "this network",
    "10.0.0.1": "private",
    "10.255.255.255": "private",
    "100.64.0.1": "shared",
    "100.127.255.255": "shared",
    "127.0.0.1": "loopback",
    "127.255.255.254": "loopback",
    "169.254.169.254": "link-local",
    "172.16.0.1": "private",
    "172.31.255.255": "private",
    "192.0.0.1": "protocol assignments",
    "192.0.0.170": "protocol assignments",
    "192.0.2.1": "documentation",
    "192.88.99.1": "6to4",
    "192.168.0.1": "private",
    "198.18.0.1": "benchmarks",
    "198.19.255.255": "benchmarks",
    "198.51.100.7": "documentation",
    "203.0.113.7": "documentation",
    "224.0.0.1": "multicast",
    "239.255.255.255": "multicast",
    "240.0.0.1": "reserved",
    "255.255.255.255": "reserved",
    "::": "unspecified",
    "::1": "loopback",
    "::2": "0.0.0.2",
    "100::1": "discarding",
    "2001:2::1": "protocol assignments",
    "2001:10::1": "protocol assignments",
    "2001:1ff::1": "protocol assignments",
    "2001:db8::1": "documentation",
    "3fff::1": "documentation",
    "4000::1": "not global unicast",
    "5f00::1": "not global unicast",
    "fc00::1": "unique local",
    "fd12:3456::1": "unique local",
    "fe80::1": "link-local",
    "fec0::1": "site-local",
    "ff02::1": "multicast",
    # A private address in disguise.
    "::ffff:127.0.0.1": "loopback",
    "::ffff:a00:1": "private",
    "::ffff:169.254.169.254": "link-local",
    "::127.0.0.1": "carrying 127.0.0.1",
    "::ffff:0:127.0.0.1": "not global unicast",  # IPv4-translated
    "64:ff9b::10.0.0.1": "carrying 10.0.0.1",
    "64:ff9b::7f00:1": "carrying 127.0.0.1",
    "64:ff9b:1::8.8.8.8": "inside a network",
    "64:ff9b:1:ffff::1": "inside a network",
    "2002:a00:1::1": "carrying 10.0.0.1",
    "2002:7f00:1::": "carrying 127.0.0.1",
    "2001:0:a00:1:0:0:f7f7:f7f7": "carrying 10.0.0.1",  # Teredo server
    "2001:0:808:808:0:0:f5ff:fffe": "carrying 10.0.0.1",  # Teredo client
    "2001:4860::5efe:10.0.0.1": "carrying 10.0.0.1",
    "2001:4860::200:5efe:192.168.0.1": "carrying 192.168.0.1",
    "fe80::5efe:8.8.8.8": "link-local",
    # A zone ties an address to one of our own interfaces.
    "fe80::1%eth0": "interface",
    "2606:4700:4700::1111%1": "interface",
    # No address at all.
    "": "not an IP address",
    "localhost": "not an IP address",
    "127.1": "not an IP address",
    "0x7f000001": "not an IP address",
}


@pytest.mark.req("B6", "D19")
@pytest.mark.parametrize("ip", PUBLIC)
def test_addresses_of_the_public_internet_are_allowed(ip: str) -> None:
    assert AddressPolicy().judge(ip, 80).allowed


@pytest.mark.req("B6", "D19")
@pytest.mark.parametrize("ip", REFUSED)
def test_all_others_are_refused_with_the_reason(ip: str) -> None:
    verdict = AddressPolicy().judge(ip, 80)
    assert not verdict.allowed
    assert REFUSED[ip] in verdict.reason


def wrappings(inner: ipaddress.IPv4Address) -> list[ipaddress.IPv6Address]:
    bits = int(inner)
    return [
        ipaddress.IPv6Address(value)
        for value in (
            (0xFFFF << 32) | bits,
            bits,
            (0x64FF9B << 96) | bits,
            (0x2002 << 112) | (bits << 80) | 1,
            (0x20010000 << 96) | (bits << 64) | 0xF7F7F7F7,
            (0x20010000 << 96) | (0x08080808 << 64) | (bits ^ 0xFFFFFFFF),
            (0x20014860 << 96) | (0x5EFE << 32) | bits,
        )
    ]


@pytest.mark.req("B6")
@settings(max_examples=200, deadline=None)
@given(st.ip_addresses(v=4).filter(lambda ip: int(ip) > 1))
def test_no_wrapping_hides_a_refused_address(inner: ipaddress.IPv4Address) -> None:
    policy = AddressPolicy()
    expected = policy.judge(str(inner), 80).allowed
    for outer in wrappings(inner):
        assert policy.judge(str(outer), 80).allowed is expected, outer


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=50) | st.ip_addresses().map(str))
def test_any_text_is_judged(ip: str) -> None:
    assert AddressPolicy().judge(ip, 80).reason or AddressPolicy().judge(ip, 80).allowed


@pytest.mark.req("B6")
@pytest.mark.parametrize(
    ("allowed", "ip", "port"),
    [
        ("10.0.0.0/8", "10.1.2.3", 80),
        ("10.0.0.0/8", "::ffff:10.1.2.3", 80),
        ("10.0.0.0/8", "64:ff9b::10.1.2.3", 80),
        ("::ffff:10.0.0.0/104", "10.1.2.3", 80),
        ("192.168.1.7", "192.168.1.7", 8443),
        ("fd00::/8", "fd00::1", 80),
        ("fe80::/10", "fe80::1%eth0", 80),
        ("64:ff9b:1::/48", "64:ff9b:1::10.0.0.1", 80),
        ("127.0.0.1:8080", "127.0.0.1", 8080),
        ("127.0.0.1:8080", "::ffff:127.0.0.1", 8080),
        ("[::1]:8080", "::1", 8080),
        ("[::ffff:127.0.0.1]:8080", "127.0.0.1", 8080),
        (" 127.0.0.1:8080 ", "127.0.0.1", 8080),
    ],
)
def test_what_the_operator_names_is_allowed(allowed: str, ip: str, port: int) -> None:
    assert AddressPolicy.parse([allowed]).judge(ip, port).allowed


@pytest.mark.req("B6")
@pytest.mark.parametrize(
    ("allowed", "ip", "port"),
    [
        ("10.0.0.0/8", "192.168.0.1", 80),
        ("10.0.0.0/8", "2001:0:a00:1:0:0:80ff:fffe", 80),  # Teredo from 127.0.0.1 by 10.0.0.1
        ("10.0.0.0/8", "fe80::5efe:10.0.0.1", 80),
        ("::/0", "::ffff:127.0.0.1", 80),
        ("192.168.1.7", "192.168.1.8", 80),
        ("127.0.0.1:8080", "127.0.0.1", 6379),
        ("127.0.0.1:8080", "127.0.0.2", 8080),
        ("[::1]:8080", "::1", 80),
        ("intranet.example", "10.0.0.1", 80),
    ],
)
def test_and_nothing_beside_it(allowed: str, ip: str, port: int) -> None:
    assert not AddressPolicy.parse([allowed]).judge(ip, port, host="other.example").allowed


@pytest.mark.req("B6")
@pytest.mark.parametrize("name", ["intranet.example", "Intranet.EXAMPLE.", "intranet"])
def test_a_named_host_may_have_any_address(name: str) -> None:
    policy = AddressPolicy.parse([name])
    host = name.lower().removesuffix(".")
    assert policy.judge("10.0.0.1", 80, host).allowed
    assert policy.judge("10.0.0.1", 80, f"{host}.").allowed
    assert not policy.judge("10.0.0.1", 80, f"www.{host}").allowed


def test_an_international_name_is_known_by_its_ascii_form() -> None:
    assert AddressPolicy.parse(["bücher.example"]).host_names == {"xn--bcher-kva.example"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "10.0.0.0/33",
        "10.0.0/8",
        "10.1",
        "0x7f.1",
        "300.1.1.1",
        "127.0.0.1:0",
        "127.0.0.1:99999",
        "127.0.0.1:http",
        "[::1",
        "[zz]:80",
        "fe80::1%eth0/64",
        "http://intranet.example/",
        "intranet.example:8080",
        "user@host",
        "*",
        "a b",
        "a\x1b[31mb",
    ],
)
def test_what_cannot_be_allowed_is_named(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        AddressPolicy.parse(["10.0.0.0/8", text])
    assert str(caught.value).isprintable()


def test_a_network_that_begins_elsewhere_is_corrected() -> None:
    with pytest.raises(UsageError, match=r"did you mean 10\.0\.0\.0/8\?"):
        AddressPolicy.parse(["10.1.2.3/8"])


@pytest.mark.req("B6")
def test_a_seed_allows_exactly_its_own_address_and_port() -> None:
    policy = AddressPolicy().allowing_seed(Url("http://192.168.1.7:8080/docs"))
    assert policy.judge("192.168.1.7", 8080).allowed
    assert not policy.judge("192.168.1.7", 80).allowed
    assert not policy.judge("192.168.1.8", 8080).allowed


LOCAL_SEEDS = [("http://localhost/", 80), ("https://localhost/x", 443), ("http://localhost:0/", 0)]


@pytest.mark.req("B6")
@pytest.mark.parametrize(("url", "port"), LOCAL_SEEDS)
def test_localhost_means_loopback_at_the_port_of_the_scheme(url: str, port: int) -> None:
    policy = AddressPolicy().allowing_seed(Url(url))
    assert policy.judge("127.0.0.1", port).allowed
    assert policy.judge("::1", port).allowed
    assert not policy.judge("127.0.0.1", port + 1).allowed
    assert not policy.judge("127.0.0.2", port).allowed


def test_an_ipv6_seed_allows_its_address() -> None:
    assert AddressPolicy().allowing_seed(Url("http://[fd00::7]:81/")).judge("fd00::7", 81).allowed


@pytest.mark.req("B6")
def test_a_name_as_seed_allows_nothing() -> None:
    assert AddressPolicy().allowing_seed(Url("http://example.org/")) == AddressPolicy()


def test_allowing_adds_to_what_was_allowed() -> None:
    policy = AddressPolicy.parse(["10.0.0.0/8"]).allowing_seed(Url("http://127.0.0.1:81/"))
    assert policy.judge("10.0.0.1", 80).allowed
    assert policy.judge("127.0.0.1", 81).allowed
