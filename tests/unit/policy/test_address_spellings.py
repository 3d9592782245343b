"""Every spelling of an address of the operator's network, as a page may write it, is refused.

Only the decision is tested: nothing is contacted.
"""

from ipaddress import ip_address

import pytest

from gossamer.policy.addresses import AddressPolicy
from gossamer.urls import host_of, normalise, resolve

LOOPBACK = [
    *("127.0.0.1", "127.1", "127.0.1", "127.00.00.01", "0177.0.0.1", "0x7f.0.0.1"),
    *("0x7f.1", "0X7F.1", "0x7f000001", "0x7F000001", "017700000001", "2130706433", "127.0.0.1."),
    *("0x7f.0x0.0x0.0x1", "0177.0.0.01", "127.0x0.0.1", "127.65535", "127.0.0.0x1", "0x7f.0.1"),
    *("127.127.127.127", "127.255.255.254", "127.0.0.%31", "%31%32%37.0.0.1", "127%2e0%2e0%2e1"),
    *("\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "127\uff0e0\uff0e0\uff0e1"),
    *("\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", "\U0001d7cf\U0001d7d0\U0001d7d5.0.0.1"),
]
UNSPECIFIED = ["0", "0.0.0.0", "0x0", "00000000", "0.0", "00.00.00.00"]  # noqa: S104 -- nobody binds to it
PRIVATE = [
    *("10.0.0.1", "10.1", "0xa.1", "012.0.0.1", "0x0a000001", "167772161", "10.255.255.255"),
    *("172.16.0.1", "0xac.0x10.0.1", "2886729729", "172.31.255.255", "192.168.1.1", "192.168.257"),
    *("0xc0a80101", "3232235777", "0300.0250.1.1", "100.64.0.1", "100.127.255.254", "1681915905"),
]
METADATA = [
    *("169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "169.254.43518"),
    *("0xa9.0xfe.0xa9.0xfe", "169.16689662", "100.100.100.200", "192.0.0.192"),
]
IPV6 = [
    *("[::1]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]"),
    *("[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]"),
    *(
        "[2002:7f00:1::]",
        "[2002:a00:1::1]",
        "[fe80::1]",
        "[fc00::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
    ),
    *("[2001:0:7f00:1::]", "[2001:db8::1]", "[::FFFF:169.254.169.254]", "[fec0::1]", "[100::1]"),
]
SPELLINGS = [*LOOPBACK, *UNSPECIFIED, *PRIVATE, *METADATA, *IPV6]


@pytest.mark.req("B6", "D19")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_is_contacted(spelling: str) -> None:
    for form in ("http://{}/", "https://{}:8443/x", "http://user@{}/", "//{}/"):
        url = resolve(form.format(spelling), "http://a.test/")
        assert url is not None
        host = host_of(url).removesuffix(".").strip("[]")
        address = ip_address(host)  # the guard sees an address, not a name
        assert not AddressPolicy().judge(str(address), 80).allowed


def test_there_are_enough() -> None:
    assert len({*SPELLINGS}) >= 60


@pytest.mark.parametrize(
    "spelling",
    ["256.0.0.1", "1.2.3.4.5", "0x1ffffffff", "4294967296", "[::1%25eth0]", "[::1", "127.0.0.1%00"],
)
def test_what_is_no_address_is_no_url(spelling: str) -> None:
    assert normalise(f"http://{spelling}/") is None
