"""Small proxies that are real: an HTTP one and a SOCKS5 one, which keep what they were told."""

import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

PATIENCE_S = 20.0


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy on loopback; `names` says where hosts are that no name server knows."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(
        self, handler: type[socketserver.BaseRequestHandler], names: dict[str, tuple[str, int]]
    ) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.names = names
        self.heads: list[bytes] = []
        """What each client has said to the proxy, on each connection in turn."""
        self.connections = 0
        self.login: tuple[str, str] | None = None
        """The user and password that a SOCKS5 proxy wants."""
        self.refusal = b""
        """What an HTTP proxy answers to everything."""
        self.tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def reach(self, host: str, port: int) -> socket.socket:
        if self.names.get(host, (host, port))[0] != "127.0.0.1":
            raise PermissionError("the tests stay on loopback, also when the guard is broken")
        return socket.create_connection(self.names.get(host, (host, port)), PATIENCE_S)

    def get_request(self) -> tuple[Any, Any]:
        client, address = super().get_request()
        self.connections += 1
        return (self.tls.wrap_socket(client, server_side=True) if self.tls else client), address

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: whoever hangs up is free to do so."""


class HttpHandler(socketserver.BaseRequestHandler):
    """Makes a tunnel, or passes requests on, one after the other."""

    def handle(self) -> None:
        proxy = cast("Proxy", self.server)
        client = cast("socket.socket", self.request)
        client.settimeout(PATIENCE_S)
        while head := _read_head(client):
            proxy.heads.append(head)
            method, target, rest = head.split(b" ", 2)
            if proxy.refusal:
                client.sendall(proxy.refusal)
                return
            if method == b"CONNECT":
                host, _, port = target.decode().rpartition(":")
                server = proxy.reach(host.strip("[]"), int(port))
                client.sendall(b"HTTP/1.1 200 Made\r\nX-Proxy: yes\r\n\r\n")
                _relay(client, server)
                return
            host, _, path = target.decode().removeprefix("http://").partition("/")
            name, _, port = host.partition(":")
            with proxy.reach(name, int(port or 80)) as server:
                first = rest.split(b"\r\n", 1)[1]
                fields = [
                    line for line in first.split(b"\r\n") if not line.lower().startswith(b"proxy-")
                ]
                server.sendall(b"GET /%b HTTP/1.1\r\n" % path.encode() + b"\r\n".join(fields))
                client.sendall(_read_answer(server))


class SocksHandler(socketserver.BaseRequestHandler):
    """Speaks SOCKS5 (RFC 1928), with user and password (RFC 1929) if they are wanted."""

    def handle(self) -> None:
        proxy = cast("Proxy", self.server)
        client = cast("socket.socket", self.request)
        client.settimeout(PATIENCE_S)
        _, count = _exactly(client, 2)
        _exactly(client, count)
        if proxy.login is not None:
            client.sendall(b"\5\2")
            (_, size) = _exactly(client, 2)
            user = _exactly(client, size)
            password = _exactly(client, _exactly(client, 1)[0])
            right = (user.decode(), password.decode()) == proxy.login
            client.sendall(b"\1\0" if right else b"\1\1")
            if not right:
                return
        else:
            client.sendall(b"\5\0")
        _, _, _, kind = _exactly(client, 4)
        if kind == 3:
            host = _exactly(client, _exactly(client, 1)[0]).decode()
        else:
            family, size = (socket.AF_INET, 4) if kind == 1 else (socket.AF_INET6, 16)
            host = socket.inet_ntop(family, _exactly(client, size))
        (port,) = struct.unpack("!H", _exactly(client, 2))
        proxy.heads.append(f"{'name' if kind == 3 else 'address'} {host}:{port}".encode())
        server = proxy.reach(host, port)
        client.sendall(b"\5\0\0\1" + bytes(6))
        _relay(client, server)


@contextmanager
def running(
    handler: type[socketserver.BaseRequestHandler], **names: tuple[str, int]
) -> Iterator[Proxy]:
    """Run a proxy; a name is written with _ for its dots."""
    with Proxy(handler, {one.replace("_", "."): where for one, where in names.items()}) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=[0.01])
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


def _read_head(client: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = client.recv(1)
        if not piece:
            return b""
        head += piece
    return head


def _read_answer(server: socket.socket) -> bytes:
    head = _read_head(server)
    length = next(
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    )
    return head + (_exactly(server, length) if length else b"")


def _exactly(client: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = client.recv(size - len(found))
        if not piece:
            raise ConnectionError("it hung up")
        found += piece
    return found


def _relay(client: socket.socket, server: socket.socket) -> None:
    def pass_on(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, target):
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    back = threading.Thread(target=pass_on, args=[server, client], daemon=True)
    back.start()
    pass_on(client, server)
    back.join()
    server.close()
