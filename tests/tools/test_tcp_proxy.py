"""The proxy does to a connection what its methods say, on either event loop."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

import pytest
import uvloop
from tcp_proxy import TcpProxy

LOOPBACK = "127.0.0.1"
SOON_S = 0.2
"""Longer than anything takes on loopback, and short enough to wait for nothing to happen."""


class ProxyCaller:
    """A connection to a port, closed at the end of the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def echoed(self, text: bytes) -> bytes:
        self.writer.write(text)
        return await self.reader.readexactly(len(text))


Call = Callable[[TcpProxy], Awaitable[ProxyCaller]]
Body = Callable[[TcpProxy, Call], Awaitable[None]]
Run = Callable[[Body], None]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.closing(writer), contextlib.suppress(ConnectionError):
        while piece := await reader.read(1000):
            writer.write(piece)
            await writer.drain()


async def with_proxy(body: Body) -> None:
    """Run a test with a proxy in front of a server that sends back what it gets."""
    server = await asyncio.start_server(echo, LOOPBACK, 0)
    target = server.sockets[0].getsockname()[:2]
    async with server, contextlib.AsyncExitStack() as ending:

        async def call(proxy: TcpProxy) -> ProxyCaller:
            reader, writer = await asyncio.open_connection(LOOPBACK, proxy.port)
            ending.callback(writer.close)
            return ProxyCaller(reader, writer)

        proxy = await ending.enter_async_context(TcpProxy(target))
        await body(proxy, call)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    def run(body: Body) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(asyncio.wait_for(with_proxy(body), 10))

    return run


def test_bytes_pass_both_ways_and_the_end_of_them_too(run: Run) -> None:
    async def body(proxy: TcpProxy, call: Call) -> None:
        caller = await call(proxy)
        much = bytes(range(256)) * 4000
        assert await caller.echoed(much) == much
        caller.writer.write(b"last")
        caller.writer.write_eof()
        assert await caller.reader.read() == b"last"
        assert proxy.accepted == 1

    run(body)


def test_a_cut_resets_what_stands_and_takes_new_connections(run: Run) -> None:
    async def body(proxy: TcpProxy, call: Call) -> None:
        first, second = await call(proxy), await call(proxy)
        await first.echoed(b"a")
        await second.echoed(b"b")
        assert proxy.connections == 2
        proxy.cut()
        for caller in (first, second):
            with pytest.raises(ConnectionResetError):
                await caller.reader.readexactly(1)
        assert await (await call(proxy)).echoed(b"c") == b"c"
        assert proxy.connections == 1

    run(body)


def test_a_cut_loses_what_was_under_way(run: Run) -> None:
    async def body(proxy: TcpProxy, call: Call) -> None:
        caller = await call(proxy)
        await caller.echoed(b"a")
        proxy.pause()
        caller.writer.write(b"lost")
        proxy.cut()
        proxy.resume()
        with pytest.raises(ConnectionResetError):
            await caller.reader.readexactly(1)

    run(body)


def test_while_paused_nothing_passes_and_nothing_is_lost(run: Run) -> None:
    async def body(proxy: TcpProxy, call: Call) -> None:
        old = await call(proxy)
        await old.echoed(b"a")
        proxy.pause()
        new = await call(proxy)
        waiting = [asyncio.ensure_future(one.echoed(b"bcd")) for one in (old, new)]
        done, _ = await asyncio.wait(waiting, timeout=SOON_S)
        assert not done
        proxy.resume()
        assert await asyncio.gather(*waiting) == [b"bcd", b"bcd"]

    run(body)


def test_refusing_is_for_new_connections_and_keeps_the_port(run: Run) -> None:
    async def body(proxy: TcpProxy, call: Call) -> None:
        old, port = await call(proxy), proxy.port
        await old.echoed(b"a")
        proxy.refuse()
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            await call(proxy)
        assert await old.echoed(b"b") == b"b"
        proxy.resume()
        assert proxy.port == port
        assert await (await call(proxy)).echoed(b"c") == b"c"

    run(body)


def test_a_delay_holds_back_each_way(run: Run) -> None:
    async def body(proxy: TcpProxy, call: Call) -> None:
        caller = await call(proxy)
        proxy.delay(0.1)
        before = time.monotonic()
        await caller.echoed(b"a")
        assert time.monotonic() - before >= 0.2
        proxy.delay(100)
        proxy.delay(0)
        await caller.echoed(b"b")

    run(body)


def test_a_target_that_is_gone_is_a_reset(run: Run) -> None:
    async def body(_: TcpProxy, call: Call) -> None:
        async with TcpProxy((LOOPBACK, 1)) as proxy:
            caller = await call(proxy)
            with pytest.raises(ConnectionResetError):
                await caller.reader.readexactly(1)

    run(body)


def test_leaving_ends_everything(run: Run) -> None:
    async def body(outer: TcpProxy, call: Call) -> None:
        async with TcpProxy((LOOPBACK, outer.port)) as proxy:
            caller = await call(proxy)
            await caller.echoed(b"a")
            proxy.pause()
        assert proxy.connections == 0
        with pytest.raises(ConnectionResetError):
            await caller.reader.readexactly(1)
        with pytest.raises(ConnectionRefusedError):
            await call(proxy)

    run(body)
