"""Serve a folder of pages on loopback, in a process of its own: serve_docs.py FOLDER [DELAY_MS]

Every page is in memory and an answer is one write, so that the server takes as little as possible
of the cores that it shares with the crawlers. With a delay, every answer takes so long. Prints its
port; leaves at the end of its input.
"""

import asyncio
import sys
import threading
from pathlib import Path
from typing import cast

import uvloop

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".svg": "image/svg+xml"}
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"


class Visitor(asyncio.Protocol):
    """One connection, kept open for any number of requests without a body."""

    def __init__(self, answers: dict[str, bytes], delay_s: float) -> None:
        self._answers = answers
        self._delay_s = delay_s
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1].decode("ascii")
            answer = self._answers.get(path, NOT_FOUND)
            if self._delay_s:
                later = asyncio.get_running_loop().call_later
                later(self._delay_s, self._transport.write, answer)
            else:
                self._transport.write(answer)


def answers_of(folder: Path) -> dict[str, bytes]:
    """Return the whole answer for every path."""
    answers = {}
    for file in folder.iterdir():
        if file.is_file():
            body = file.read_bytes()
            kind = TYPES.get(file.suffix, "application/octet-stream")
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
            answers[f"/{file.name}"] = head.encode() + body
    return answers


async def serve(folder: Path, delay_s: float) -> None:
    answers = answers_of(folder)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Visitor(answers, delay_s), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    done = asyncio.Event()

    def listen() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(done.set)

    threading.Thread(target=listen, daemon=True).start()
    await done.wait()
    server.close()


if __name__ == "__main__":
    folder, delay_ms = Path(sys.argv[1]), [*sys.argv[2:], "0"][0]
    uvloop.run(serve(folder, int(delay_ms) / 1000))
