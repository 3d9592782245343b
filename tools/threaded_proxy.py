"""A TCP proxy before a server, for tests that do not run in an event loop."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from tcp_proxy import TcpProxy

LOOPBACK = "127.0.0.1"
PATIENCE_S = 45.0


class ThreadedProxy:
    """A `TcpProxy` in a thread of its own; its methods may be called from here."""

    def __init__(self, port: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._proxy = TcpProxy((LOOPBACK, port))
        self._run(self._proxy.__aenter__())

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._proxy.port

    @property
    def url(self) -> str:
        """The address of the Redis behind it."""
        return f"redis://{LOOPBACK}:{self.port}"

    def act(self, what: Callable[[TcpProxy], object]) -> None:
        """Have something done to the connections."""

        async def act() -> None:
            what(self._proxy)

        self._run(act())

    def close(self) -> None:
        """End it with its thread."""
        self._run(self._proxy.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, what: Coroutine[Any, Any, object]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(PATIENCE_S)
