"""A TCP proxy that misbehaves on command: it simulates the failures of a network.

    async with TcpProxy(("127.0.0.1", 6379)) as proxy:
        client = Redis(port=proxy.port)
        proxy.cut()        # every connection is reset; new ones are accepted
        proxy.pause()      # connections stay open, and not a byte passes
        proxy.refuse()     # new connections are refused
        proxy.delay(0.2)   # whatever is sent arrives 200 ms later
        proxy.resume()     # back to normal
        proxy.lead_to(("127.0.0.1", 6380))   # every connection is reset; new ones go elsewhere

It runs in the event loop it was entered in; its methods take effect at once.
"""

import asyncio
import contextlib
import socket
import struct
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"
_PIECE = 65536
_RESET = struct.pack("ii", 1, 0)
"""For SO_LINGER: closing discards unsent data and resets the connection."""


class TcpProxy:
    """A port on loopback that leads to the target, inside `async with`."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._delay_s = 0.0
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._listener: socket.socket | None = None
        self._is_listening = False
        self._connections: dict[asyncio.Task[None], list[asyncio.StreamWriter]] = {}
        self.port = 0
        """Where to connect to; it stays the same after `refuse` and `resume`."""
        self.accepted = 0
        """How many connections were accepted so far."""

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    async def __aenter__(self) -> Self:
        self._listener = self._bound()
        self._listen()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._unbind()
        ending = list(self._connections)
        self.cut()
        await asyncio.gather(*ending, return_exceptions=True)

    def cut(self) -> None:
        """Reset every connection, in both directions, and discard data in transit."""
        for task, writers in self._connections.items():
            for writer in writers:
                _reset(writer)
            task.cancel()

    def lead_to(self, target: tuple[str, int]) -> None:
        """Reset every connection; new ones lead to another server, as after a failover."""
        self._target = target
        self.cut()

    def pause(self) -> None:
        """Let nothing pass; connections stay open, and new ones are accepted."""
        self._flowing.clear()

    def refuse(self) -> None:
        """Refuse new connections; open ones continue."""
        if self._is_listening:
            closed = self._bound()  # before the other is gone, so that the port stays ours
            self._unbind()
            self._listener = closed

    def delay(self, seconds: float) -> None:
        """Delay every piece by so long, in both directions."""
        self._delay_s = seconds

    def resume(self) -> None:
        """Undo `pause`, `refuse` and `delay`."""
        self._delay_s = 0.0
        self._flowing.set()
        self._listen()

    def _bound(self) -> socket.socket:
        """Return a socket at our port that does not listen, and so refuses connections."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setblocking(False)
        listener.bind((LOOPBACK, self.port))
        self.port = listener.getsockname()[1]
        return listener

    def _listen(self) -> None:
        if self._listener is not None and not self._is_listening:
            self._listener.listen(1024)
            asyncio.get_running_loop().add_reader(self._listener, self._accept)
            self._is_listening = True

    def _unbind(self) -> None:
        if self._listener is not None:
            if self._is_listening:
                asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
        self._listener, self._is_listening = None, False

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            client, _ = self._listener.accept()
        except OSError:  # it is gone again
            return
        self.accepted += 1
        writers: list[asyncio.StreamWriter] = []
        task = asyncio.get_running_loop().create_task(self._serve(client, writers))
        self._connections[task] = writers
        task.add_done_callback(lambda done: self._connections.pop(done, None))
        task.add_done_callback(lambda _: client.close())  # also if it was cut before it started

    async def _serve(self, client: socket.socket, writers: list[asyncio.StreamWriter]) -> None:
        """Forward bytes both ways until both sides have ended or one is gone."""
        try:
            near, to_near = await asyncio.open_connection(sock=client)
            writers.append(to_near)
            try:
                far, to_far = await asyncio.open_connection(*self._target)
            except OSError:
                _reset(to_near)
                return
            writers.append(to_far)
            await asyncio.gather(self._forward(near, to_far), self._forward(far, to_near))
        finally:
            for writer in writers:
                writer.close()
                with contextlib.suppress(OSError):
                    await writer.wait_closed()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(_PIECE):
                await self._hold_back()
                writer.write(piece)
                await writer.drain()
            await self._hold_back()
            writer.write_eof()
        except OSError:  # one side is gone: reset the other, too
            _reset(writer)

    async def _hold_back(self) -> None:
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        await self._flowing.wait()


def _reset(writer: asyncio.StreamWriter) -> None:
    if not writer.transport.is_closing():
        connection = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
