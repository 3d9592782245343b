"""Nothing inside the operator's network is contacted because the web says so."""

import asyncio
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer.download.client import Client
from gossamer.download.options import FetchOptions
from gossamer.model import Cause, NameTable, Outcome, Response, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.testing import Web
from gossamer.urls import normalise

pytestmark = pytest.mark.req("B6", "D19")


class Trap:
    """A listener that nobody should ever connect to."""

    def __init__(self, address: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.create_server((address, port), family=family)
        self.listener.setblocking(False)
        self.port: int = self.listener.getsockname()[1]

    @property
    def untouched(self) -> bool:
        """Whether no connection was begun; the kernel completes one without our accepting it."""
        try:
            connection, _ = self.listener.accept()
        except BlockingIOError:
            return True
        connection.close()
        return False


@pytest.fixture
def set_traps() -> Iterator[Callable[..., list[Trap]]]:
    """Listen at these addresses, all at one port."""
    with ExitStack() as stack:

        def set_traps(*addresses: str, port: int = 0) -> list[Trap]:
            # All servers of the tests have their ports at 127.0.0.1: what is taken there is
            # nobody else's at the other addresses either.
            if not port and addresses[0] != "127.0.0.1":
                holder = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
                port = holder.getsockname()[1]
            traps: list[Trap] = []
            for address in addresses:
                traps.append(Trap(address, port))
                stack.enter_context(traps[-1].listener)
                port = traps[0].port
            return traps

        yield set_traps


def fetch_all(
    urls: Sequence[str],
    options: FetchOptions,
    policy: AddressPolicy,
    dns: NameTable | None = None,
) -> list[Response]:
    async def run() -> list[Response]:
        async with Client(options, policy, dns) as client:
            return [await client.fetch(Url(normalise(url) or "")) for url in urls]

    return asyncio.run(run())


def assert_refused(response: Response, *, naming: str) -> None:
    assert (response.outcome, response.cause) == (Outcome.ADDRESS_REFUSED, Cause.ADDRESS_REFUSED)
    assert naming in response.detail
    assert response.address is None


def test_the_trap_itself_notices(set_traps: Callable[..., list[Trap]]) -> None:
    [trap] = set_traps("127.0.0.1")
    socket.create_connection(("127.0.0.1", trap.port)).close()
    assert not trap.untouched


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127。0。0。1", "127.0.0.1"),
        ("%31%32%37.0.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),  # noqa: S104 - Linux takes it for its own address
        ("[::1]", "::1"),
        ("[::]", "::"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[::ffff:7f00:1]", "::ffff:127.0.0.1"),
        ("localhost", "loopback"),
        ("sub.localhost", "loopback"),
    ],
)
def test_no_spelling_of_an_own_address_gets_a_packet_out(
    host: str, address: str, quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    trap, other_trap = set_traps("127.0.0.1", "::1")
    [response] = fetch_all([f"http://{host}:{trap.port}/"], quick, AddressPolicy())
    assert_refused(response, naming=address)
    assert trap.untouched
    assert other_trap.untouched


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_name_that_leads_inside_is_refused(
    scheme: str, quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    trap, other_trap = set_traps("127.0.0.1", "::1")
    places: dict[str, list[str | list[str]]] = {
        "127.0.0.1": [f"127.0.0.1:{trap.port}", "127.0.0.1", ["127.0.0.1"]],
        "::1": [f"[::1]:{trap.port}", "[::1]", "::1", ["::1"]],
        "::ffff:127.0.0.1": [f"[::ffff:127.0.0.1]:{trap.port}"],
    }
    for address, spellings in places.items():
        for place in spellings:
            url = f"{scheme}://evil.test:{trap.port}/"
            [response] = fetch_all([url], quick, AddressPolicy(), {"evil.test": place})
            assert_refused(response, naming=address)
    assert trap.untouched
    assert other_trap.untouched


def test_a_redirect_that_leads_inside_is_refused_when_followed(
    web: Web, allowed: AddressPolicy, quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    [trap] = set_traps("127.0.0.1")
    web.site("a.test").redirect("/", f"http://127.0.0.1:{trap.port}/latest/meta-data/")
    [redirect] = fetch_all(["http://a.test/"], quick, allowed, web.dns)
    assert redirect.target is not None
    [response] = fetch_all([redirect.target], quick, allowed, web.dns)
    assert_refused(response, naming="127.0.0.1")
    assert trap.untouched


def test_one_refused_address_of_a_name_refuses_them_all(
    quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    inside, outside = set_traps("127.0.0.3", "127.0.0.2")
    policy = AddressPolicy.parse(["127.0.0.2"])
    dns = {"mixed.test": ["127.0.0.3", "127.0.0.2"]}
    [response] = fetch_all([f"http://mixed.test:{inside.port}/"], quick, policy, dns)
    assert_refused(response, naming="127.0.0.3")
    assert inside.untouched
    assert outside.untouched


def test_a_refused_address_is_no_fallback_for_one_that_does_not_answer(
    quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    [inside] = set_traps("127.0.0.3")
    policy = AddressPolicy.parse(["127.0.0.2"])
    dns = {"mixed.test": ["127.0.0.2", "127.0.0.3"]}
    [response] = fetch_all([f"http://mixed.test:{inside.port}/"], quick, policy, dns)
    assert_refused(response, naming="127.0.0.3")
    assert inside.untouched


def test_an_allowed_address_that_answers_is_enough(
    web: Web, allowed: AddressPolicy, quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    web.site("mixed.test").page("/")
    _, port = web.address
    [inside] = set_traps("127.0.0.3", port=port)
    dns = {"mixed.test": ["127.0.0.1", "127.0.0.3"]}
    [response] = fetch_all([f"http://mixed.test:{port}/"], quick, allowed, dns)
    assert response.outcome is Outcome.FETCHED
    assert inside.untouched


@pytest.mark.parametrize("as_sequence", [False, True])
def test_a_name_that_changes_its_address_is_judged_again(
    as_sequence: bool,
    web: Web,
    allowed: AddressPolicy,
    quick: FetchOptions,
    set_traps: Callable[..., list[Trap]],
) -> None:
    # The server closes, so that the second request needs a connection and an address of its own.
    close = {"Connection": "close"}
    web.site("rebind.test").status("/", 404, headers=close)
    _, port = web.address
    [trap] = set_traps("127.0.0.3", port=port)
    dns: dict[str, str | list[str]] = {}

    def point_to(address: str) -> None:
        dns["rebind.test"] = [address] if as_sequence else f"{address}:{port}"

    async def run() -> list[Response]:
        async with Client(quick, allowed, dns) as client:
            responses = []
            for address in ("127.0.0.1", "127.0.0.3", "127.0.0.1"):
                point_to(address)
                responses.append(await client.fetch(Url(f"http://rebind.test:{port}/")))
            return responses

    before, rebound, after = asyncio.run(run())
    assert before.outcome is after.outcome is Outcome.NOT_FOUND
    assert_refused(rebound, naming="127.0.0.3")
    assert trap.untouched
    assert len(web.requests) == 2


def test_a_connection_kept_open_was_judged_when_it_was_opened(
    web: Web, allowed: AddressPolicy, quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    web.site("a.test").page("/")
    _, port = web.address
    [trap] = set_traps("127.0.0.3", port=port)
    dns = {"a.test": ["127.0.0.1"]}

    async def run() -> list[Response]:
        async with Client(quick, allowed, dns) as client:
            first = await client.fetch(Url(f"http://a.test:{port}/"))
            dns["a.test"] = ["127.0.0.3"]
            return [first, await client.fetch(Url(f"http://a.test:{port}/"))]

    assert [response.address for response in asyncio.run(run())] == ["127.0.0.1", "127.0.0.1"]
    assert trap.untouched


def test_the_operator_may_name_an_own_address_as_seed(web: Web, quick: FetchOptions) -> None:
    web.site("a.test").page("/")
    _, port = web.address
    seed = Url(f"http://localhost:{port}/")
    [response] = fetch_all([seed], quick, AddressPolicy().allowing_seed(seed))
    assert response.outcome is Outcome.FETCHED
    assert response.address == "127.0.0.1"


def test_the_environment_names_no_proxy(
    web: Web,
    allowed: AddressPolicy,
    quick: FetchOptions,
    set_traps: Callable[..., list[Trap]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [trap] = set_traps("127.0.0.1")
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{trap.port}/")
    monkeypatch.setenv("no_proxy", "")
    web.site("a.test").page("/")
    [response] = fetch_all(["http://a.test/"], quick, allowed, web.dns)
    assert response.outcome is Outcome.FETCHED
    assert trap.untouched


def test_no_password_of_the_operator_is_sent(
    web: Web,
    allowed: AddressPolicy,
    quick: FetchOptions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / ".netrc").write_text("default login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    web.site("a.test").status("/", 401, headers={"WWW-Authenticate": "Basic realm=x"})
    fetch_all(["http://me:secret@a.test/"], quick, allowed, web.dns)
    [request] = web.requests
    assert request.headers.get("authorization") is None


def test_a_server_gets_no_cookie_back(
    web: Web, allowed: AddressPolicy, quick: FetchOptions
) -> None:
    web.site("a.test").status("/", 200, headers={"Set-Cookie": "id=1; Path=/"})
    fetch_all(["http://a.test/"] * 2, quick, allowed, web.dns)
    assert [request.headers.get("cookie") for request in web.requests] == [None, None]


def test_the_table_of_names_takes_the_place_of_dns(
    quick: FetchOptions, set_traps: Callable[..., list[Trap]]
) -> None:
    [trap] = set_traps("127.0.0.1")
    everything = AddressPolicy.parse(["127.0.0.0/8", "::1"])
    urls = [f"http://localhost:{trap.port}/", "http://a.test/", "http://gossamer.example/"]
    for response in fetch_all(urls, quick, everything, {"b.test": "127.0.0.1"}):
        assert (response.outcome, response.cause) == (Outcome.DNS_FAILED, Cause.NAME_NOT_FOUND)
        assert "table" in response.detail
    assert trap.untouched


@pytest.mark.req("D19")
@pytest.mark.parametrize("host", ["a" * 64 + ".test", "a*b.test", "a,b.test"])
def test_a_name_that_no_name_server_can_know(host: str, quick: FetchOptions) -> None:
    [response] = fetch_all([f"http://{host}/"], quick, AddressPolicy())
    assert (response.outcome, response.cause) == (Outcome.DNS_FAILED, Cause.NAME_NOT_FOUND)
