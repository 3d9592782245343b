"""An HTTP/2 server of a few frames (RFC 9113): it answers every request with the same page."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.webs.http2_frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    PREFACE,
    Frame,
    frame,
    parse_frame_header,
)


class Http2Server:
    """Counts connections and requests; what it answers is given as HPACK bytes and a body."""

    def __init__(self, context: ssl.SSLContext, head: bytes, body: bytes) -> None:
        self._context = context
        self._answer = head, body
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.connections = self.requests = 0

    def serve(self) -> None:
        with self._listener, suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                with suppress(OSError), self._context.wrap_socket(client, server_side=True) as line:
                    line.settimeout(20)
                    self._talk(line)

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)

    def _talk(self, line: ssl.SSLSocket) -> None:
        assert line.selected_alpn_protocol() == "h2"
        assert _exactly(line, len(PREFACE)) == PREFACE
        line.sendall(frame(Frame.SETTINGS))
        while True:
            size, kind, flags, stream = parse_frame_header(_exactly(line, 9))
            _exactly(line, size)
            if kind == Frame.SETTINGS and not flags & ACK:
                line.sendall(frame(Frame.SETTINGS, ACK))
            if kind == Frame.HEADERS:
                self.requests += 1
                head, body = self._answer
                line.sendall(frame(Frame.HEADERS, END_HEADERS, stream, head))
                line.sendall(frame(Frame.DATA, END_STREAM, stream, body))


@contextmanager
def http2_server(context: ssl.SSLContext, head: bytes, body: bytes) -> Iterator[Http2Server]:
    """Run a server."""
    context.set_alpn_protocols(["h2", "http/1.1"])
    server = Http2Server(context, head, body)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(1)


def _exactly(line: ssl.SSLSocket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = line.recv(size - len(found))
        if not piece:
            raise ConnectionError("it hung up")
        found += piece
    return found
