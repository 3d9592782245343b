"""What a transfer answers to libcurl, without libcurl."""

import socket
from typing import Protocol, runtime_checkable

import pycurl
import pytest

from gossamer.download.address_slots import AddressSlots
from gossamer.download.connections import ConnectionSockets
from gossamer.download.curl_errors import CurlFailure
from gossamer.download.options import Accept, FetchOptions
from gossamer.download.request_settings import PLAIN
from gossamer.download.transfer import Network, Request, Transfer
from gossamer.model import Cause, Url
from gossamer.policy.addresses import AddressPolicy
from gossamer.policy.size_limits import Allowance


@runtime_checkable
class SupportsFileno(Protocol):
    """All that pycurl asks of a socket."""

    def fileno(self) -> int: ...


REFUSED = CurlFailure(pycurl.E_COULDNT_CONNECT, "Could not connect to server")


@pytest.fixture
def transfer() -> Transfer:
    request = Request(Url("http://a.test/"), Accept.PAGE, PLAIN, Allowance())
    network = Network(FetchOptions(), AddressPolicy(), ConnectionSockets(), AddressSlots(None))
    return Transfer(pycurl.Curl(), request, network)


def open_socket(transfer: Transfer, ip: str, family: int = socket.AF_INET) -> object:
    return transfer.on_open(0, (family, socket.SOCK_STREAM, 0, (ip, 80)))


def test_a_public_address_gets_a_socket(transfer: Transfer) -> None:
    opened = open_socket(transfer, "8.8.8.8")
    assert isinstance(opened, SupportsFileno)
    assert opened.fileno() >= 0


@pytest.mark.req("B6")
def test_after_a_refused_address_no_other_gets_a_socket_and_no_connection_a_request(
    transfer: Transfer,
) -> None:
    assert open_socket(transfer, "10.0.0.1") == pycurl.SOCKET_BAD
    assert open_socket(transfer, "8.8.8.8") == pycurl.SOCKET_BAD
    assert transfer.on_connected("8.8.8.8", "", 80, 0) == pycurl.PREREQFUNC_ABORT
    response = transfer.response(REFUSED)
    assert response.cause is Cause.ADDRESS_REFUSED
    assert "10.0.0.1" in response.detail


@pytest.mark.req("B6")
def test_an_address_bound_to_an_interface_is_refused(transfer: Transfer) -> None:
    place = ("2606:4700:4700::1111", 80, 0, 1)
    opened = transfer.on_open(0, (socket.AF_INET6, socket.SOCK_STREAM, 0, place))
    assert opened == pycurl.SOCKET_BAD


def test_a_kind_of_socket_that_we_do_not_have_leaves_the_others_to_try(transfer: Transfer) -> None:
    assert open_socket(transfer, "8.8.8.8", family=9999) == pycurl.SOCKET_BAD
    assert isinstance(open_socket(transfer, "8.8.8.8"), SupportsFileno)


def test_why_there_was_no_socket_is_told(transfer: Transfer) -> None:
    open_socket(transfer, "8.8.8.8", family=9999)
    response = transfer.response(REFUSED)
    assert response.cause is Cause.CONNECTION_REFUSED
    assert "not supported" in response.detail
