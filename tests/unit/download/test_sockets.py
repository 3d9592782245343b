"""The sockets of connections, some of which libcurl has closed without telling."""

import socket

from gossamer.download.sockets import ConnectionSockets, Ends


def test_of_a_socket_that_was_closed_nothing_is_known() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
        ends: Ends = (*here.getsockname(), *here.getpeername())
        sockets = ConnectionSockets()
        sockets.note(ends, [here.fileno()])
        there.sendall(b"five!")
        here.recv(5)
        assert sockets.received(ends) in {5, None}  # only Linux tells
        here.close()
        there.close()
        assert sockets.received(ends) is None
