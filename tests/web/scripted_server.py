"""A server on loopback that plays a script on each of its connections, byte by byte."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

Script: TypeAlias = Callable[["ScriptedServer", socket.socket, int], None]
"""What a server does with a connection, and which one it is, from 0; then it is closed."""


class ScriptedServer:
    """A server whose connections are threads; it counts connections and requests."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.connections = 0
        self.requests: list[str] = []
        """The paths that were asked for."""
        threading.Thread(target=self._accept, daemon=True).start()

    def read_request(self, connection: socket.socket) -> str | None:
        """Return the path of the next request; None if the connection was closed."""
        received = b""
        while b"\r\n\r\n" not in received:
            piece = connection.recv(65536)
            if not piece:
                return None
            received += piece
        path = received.split(b" ", 2)[1].decode()
        self.requests.append(path)
        return path

    def close(self) -> None:
        """Accept no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                number, self.connections = self.connections, self.connections + 1
                threading.Thread(target=self._play, args=(connection, number), daemon=True).start()

    def _play(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._script(self, connection, number)


@contextlib.contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Serve a script for a while."""
    server = ScriptedServer(script, tls)
    try:
        yield server
    finally:
        server.close()


def page(body: str) -> bytes:
    """Return a page, on a connection that stays."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()
