"""The parser process: `python -m gossamer.content.parser_main FD` analyses pages for another.

It receives the rules and then pages over the socket FD, and answers each in order. A frame is
four bytes of length and a message. It exits when the other side is gone.
"""

import gc
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import Final

import msgspec

from gossamer.content.analysis import Analyser, AnalysisRules, RawPage
from gossamer.model import Url

LENGTH: Final = struct.Struct(">I")
ANSWERED_TOGETHER: Final = 2
"""A compromise: waking the other side takes time, and so does letting it wait."""
RECEIVED_AT_ONCE: Final = 1 << 18
WARM_UP: Final = RawPage(Url("http://localhost/"), "text/html", b"<p>" + b"word " * 100)


def frame(message: bytes) -> bytes:
    """Return a message with its length in front, for the socket."""
    return LENGTH.pack(len(message)) + message


def main() -> None:
    """Serve until the other side is gone."""
    # Loads every library now, while the process that started this one is still starting, too.
    Analyser(AnalysisRules(similarity=0.9)).analyse(WARM_UP)
    gc.freeze()  # what is loaded now stays: the collector need not scan it
    with socket.socket(fileno=int(sys.argv[1])) as other, suppress(ConnectionError, EOFError):
        serve(other)


def serve(other: socket.socket) -> None:
    """Answer until the other side is gone."""
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(RawPage).decode
    messages = received(other)
    analyser = Analyser(msgspec.msgpack.decode(next(messages)[0], type=AnalysisRules))
    answers = [b""]  # the first, an empty one, says that we are ready
    for message, is_last in chain([(b"", True)], messages):
        if message:
            answers.append(encode(analyser.analyse(decode(message))))
        if is_last or len(answers) == ANSWERED_TOGETHER:
            other.sendall(b"".join(map(frame, answers)))
            answers.clear()


def received(other: socket.socket) -> Iterator[tuple[bytes, bool]]:
    """Yield the messages that arrive, each with whether it is the last one received so far."""
    buffer = bytearray()
    while True:
        more = other.recv(RECEIVED_AT_ONCE)
        if not more:
            raise EOFError
        buffer += more
        messages = list(unframed(buffer))
        for number, message in enumerate(messages, 1):
            yield message, number == len(messages)


def unframed(buffer: bytearray) -> Iterator[bytes]:
    """Yield the complete messages in a buffer, and remove them from it."""
    begin = 0
    while len(buffer) - begin >= LENGTH.size:
        end = begin + LENGTH.size + LENGTH.unpack_from(buffer, begin)[0]
        if len(buffer) < end:
            break
        yield bytes(buffer[begin + LENGTH.size : end])
        begin = end
    del buffer[:begin]


if __name__ == "__main__":
    main()
