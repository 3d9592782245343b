"""A process that analyses pages for another: `python -m gossamer.content.parser_main FD`.

Over the socket FD it gets the rules and then page after page, and answers each in order. A frame is
four bytes of length and a message. It ends when the other side does, however that ends.
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
"""To wake somebody up takes time, and so does it to let him wait."""
AT_ONCE: Final = 1 << 18
PRACTICE: Final = RawPage(Url("http://localhost/"), "text/html", b"<p>" + b"word " * 100)


def frame(message: bytes) -> bytes:
    """Return a message as it goes over the socket."""
    return LENGTH.pack(len(message)) + message


def main() -> None:
    """Serve until there is nobody to serve."""
    # Loads all that is loaded when it is needed: whoever has started us is still busy, too.
    Analyser(AnalysisRules(similarity=0.9)).analyse(PRACTICE)
    gc.freeze()  # what was loaded stays: no need to look through it for garbage again and again
    with socket.socket(fileno=int(sys.argv[1])) as other, suppress(ConnectionError, EOFError):
        serve(other)


def serve(other: socket.socket) -> None:
    """Answer until the other side is gone."""
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(RawPage).decode
    messages = received(other)
    analyser = Analyser(msgspec.msgpack.decode(next(messages)[0], type=AnalysisRules))
    answers = [b""]  # the first, without an analysis, says that we are ready
    for message, is_last in chain([(b"", True)], messages):
        if message:
            answers.append(encode(analyser.analyse(decode(message))))
        if is_last or len(answers) == ANSWERED_TOGETHER:
            other.sendall(b"".join(map(frame, answers)))
            answers.clear()


def received(other: socket.socket) -> Iterator[tuple[bytes, bool]]:
    """Yield the messages that arrive, each with whether it is the last that is here."""
    buffer = bytearray()
    while True:
        more = other.recv(AT_ONCE)
        if not more:
            raise EOFError
        buffer += more
        messages = list(unframed(buffer))
        for number, message in enumerate(messages, 1):
            yield message, number == len(messages)


def unframed(buffer: bytearray) -> Iterator[bytes]:
    """Yield the whole messages in a buffer, and leave the rest there."""
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
