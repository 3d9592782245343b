"""A process that analyses pages for another: `python -m gossamer.content.analyst FD`.

Over the socket FD it gets the rules and then page after page, and answers each in order. A frame is
four bytes of length and a message. It ends when the other side does, however that ends.
"""

import gc
import signal
import socket
import struct
import sys
from contextlib import suppress
from io import BufferedRWPair
from typing import IO, Final

import msgspec

from gossamer.content.analysis import Analyser, AnalysisRules, RawPage

LENGTH: Final = struct.Struct(">I")


def frame(message: bytes) -> bytes:
    """Return a message as it goes over the socket."""
    return LENGTH.pack(len(message)) + message


def main() -> None:
    """Serve until there is nobody to serve."""
    # Ctrl-C reaches the whole group; whoever wants the pages decides when we are not needed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()  # what was loaded stays: no need to look through it for garbage again and again
    with (
        socket.socket(fileno=int(sys.argv[1])) as other,
        suppress(ConnectionError, EOFError),
        other.makefile("rwb") as stream,
    ):
        serve(stream)


def serve(stream: "IO[bytes] | BufferedRWPair") -> None:
    """Answer until the stream ends."""
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(RawPage).decode
    analyser = Analyser(msgspec.msgpack.decode(_message(stream), type=AnalysisRules))
    answer = b""  # the first, without an analysis, says that we are ready
    while True:
        stream.write(frame(answer))
        stream.flush()
        answer = encode(analyser.analyse(decode(_message(stream))))


def _message(stream: "IO[bytes] | BufferedRWPair") -> bytes:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        raise EOFError
    return stream.read(*LENGTH.unpack(head))


if __name__ == "__main__":
    main()
