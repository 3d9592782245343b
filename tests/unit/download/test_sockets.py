"""The sockets of connections, some of which libcurl has closed without telling."""

import socket
from collections.abc import Iterator

import pytest

from gossamer.download.connections import ConnectionSockets, Endpoints


@pytest.fixture
def line() -> Iterator[tuple[socket.socket, socket.socket, Endpoints]]:
    """Both ends of a connection, and their addresses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
        with here, there:
            yield here, there, (*here.getsockname(), *here.getpeername())


def test_of_a_socket_that_was_closed_nothing_is_known(
    line: tuple[socket.socket, socket.socket, Endpoints],
) -> None:
    here, there, ends = line
    sockets = ConnectionSockets()
    sockets.note(ends, [here.fileno()])
    there.sendall(b"five!")
    here.recv(5)
    assert sockets.received(ends) in {5, None}  # only Linux tells
    here.close()
    assert sockets.received(ends) is None


def test_on_a_shared_connection_only_answers_that_have_not_ended_count(
    line: tuple[socket.socket, socket.socket, Endpoints],
) -> None:
    here, there, ends = line
    sockets = ConnectionSockets()
    sockets.note(ends, [here.fileno()])
    for _ in range(2):  # each of its answers says so
        sockets.share(ends)
    there.sendall(b"eight by")
    here.recv(1)
    assert sockets.is_quiet(ends)  # such a server may send at any time
    sockets.note_answer(ends, 6)
    assert sockets.received(ends) in {2, None}
