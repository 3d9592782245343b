"""A name server on loopback that misbehaves by name, for a program in a network of its own."""

import socket
import socketserver
import struct
import threading
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

PORT = 53
A, CNAME = 1, 5
NO_ERROR, SERVER_FAILED, NO_SUCH_NAME = 0, 2, 3
TRUNCATED = 0x0200
MAX_DATAGRAM = 512


class NameServer:
    """Answers questions for IPv4 addresses; the first label of a name says how."""

    asked: ClassVar[Counter[str]] = Counter()

    def answer(self, question: bytes, *, is_datagram: bool) -> bytes | None:
        """Return the answer to a question; None: never."""
        number = question[:2]
        end = question.index(0, 12) + 5
        asked, kind = question[12:end], struct.unpack("!H", question[end - 4 : end - 2])[0]
        label = asked[1 : 1 + asked[0]].decode()
        if kind == A:
            self.asked[label] += 1
        if label == "silent":
            return None
        code = {"unknown": NO_SUCH_NAME, "failing": SERVER_FAILED}.get(label, NO_ERROR)
        records = self._records(label, asked) if code == NO_ERROR and kind == A else []
        header = struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        whole = number + header + asked + b"".join(records)
        if is_datagram and len(whole) > MAX_DATAGRAM:
            return number + struct.pack("!HHHHH", 0x8180 | TRUNCATED, 1, 0, 0, 0) + asked
        return whole

    def _records(self, label: str, asked: bytes) -> Sequence[bytes]:
        if label == "circle":  # its own name is its other name
            return [_record(CNAME, asked[:-4])]
        if label == "many":
            return [_record(A, bytes([127, 1, one // 250, one % 250 + 1])) for one in range(1000)]
        if label == "rebinding":  # for no longer than one question
            return [_record(A, bytes([127, 0, 0, 1 if self.asked[label] == 1 else 3]))]
        return [_record(A, bytes([127, 0, 0, int(last)])) for last in label.split("-")[1:]]

    def serve(self) -> None:
        """Serve datagrams and connections, each in a thread, for as long as the program runs."""
        for serve in (self._serve_datagrams, self._serve_connections):
            threading.Thread(target=serve, daemon=True).start()

    def _serve_datagrams(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.1", PORT))
            while True:
                question, client = server.recvfrom(2048)
                answer = self.answer(question, is_datagram=True)
                if answer is not None:
                    server.sendto(answer, client)

    def _serve_connections(self) -> None:
        name_server = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                while size := int.from_bytes(self.rfile.read(2), "big"):
                    answer = name_server.answer(self.rfile.read(size), is_datagram=False) or b""
                    self.wfile.write(len(answer).to_bytes(2, "big") + answer)

        with socketserver.ThreadingTCPServer(("127.0.0.1", PORT), Handler) as server:
            server.serve_forever()


def _record(kind: int, data: bytes) -> bytes:
    """Return a record of the name that was asked for, which is not to be kept."""
    return struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(data)) + data
