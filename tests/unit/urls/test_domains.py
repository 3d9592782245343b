import pytest

from gossamer.urls import Domains


@pytest.fixture(scope="module")
def domains() -> Domains:
    return Domains()


@pytest.mark.req("D5", "D6")
@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("www.example.com.", "example.com"),
        # customers of a private suffix are strangers to each other
        ("alice.github.io", "alice.github.io"),
        ("www.alice.github.io", "alice.github.io"),
        ("www.xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("x.y.xn--fiqs8s", "y.xn--fiqs8s"),
        # their own domain
        ("com", "com"),
        ("co.uk", "co.uk"),
        ("github.io", "github.io"),
        ("localhost", "localhost"),
        ("localhost.", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_the_registered_domain_of_a_host(domains: Domains, host: str, expected: str) -> None:
    assert domains.registered_domain(host) == expected


def test_a_full_memory_still_answers_right() -> None:
    domains = Domains(cache_size=2)
    hosts = [f"www.example{number}.com" for number in range(10)] * 2
    assert [domains.registered_domain(host) for host in hosts] == [host[4:] for host in hosts]
