"""A crawl's rows in a real Redis, behind a proxy that knows when a transaction is carried out."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from gossamer.model import HostKey, Url
from gossamer.stores.redis.address import parse_address
from gossamer.stores.redis.rows import RedisRows
from gossamer.stores.rows import Changes, HostRow, UrlChange, UrlRow, pack_links
from gossamer.stores.url_record import UrlState

if TYPE_CHECKING:
    import redis
    from redis_servers import RedisServer

CRAWL = "c"
EXEC = b"$4\r\nEXEC\r\n"
PREFIX = "gossamer:{c}:rows:"
LEAD = f"{PREFIX}lead"
COMMIT = f"{PREFIX}commit"


class ExecProxy:
    """A port on loopback before a Redis; something may be done around the next EXEC."""

    def __init__(self, server: "RedisServer") -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.before_exec: Callable[[], object] | None = None
        """Called once, before an EXEC gets to the server."""
        self.cut_before = False
        """Whether the next EXEC never gets to the server, and the connection is cut."""
        self.cut_after = False
        """Whether the connection is cut once the next EXEC was carried out."""
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(20)
        for one in self._sockets:
            one.close()

    def cut(self) -> None:
        """End all connections."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                break
            server = socket.socket(socket.AF_UNIX)
            self._sockets += [client, server]
            try:
                server.connect(str(self._server.socket))
            except OSError:
                _end(client)
                continue
            for target, ends in ((self._up, (client, server)), (self._down, (server, client))):
                thread = threading.Thread(target=target, args=ends, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 20):
                if EXEC in data:
                    action, self.before_exec = self.before_exec, None
                    if action is not None:
                        action()
                    if self.cut_before:
                        self.cut_before = False
                        break
                    if self.cut_after:
                        self.cut_after = False
                        self._carry_out(client, server, data)
                        break
                server.sendall(data)
        _end(client, server)

    def _carry_out(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        """Cut the client off, and wait until the server has carried the EXEC out."""
        with self._server.client as control:
            before = control.get(COMMIT)
            _end(client)
            server.sendall(data)
            while control.get(COMMIT) == before:
                threading.Event().wait(0.005)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 20):
                client.sendall(data)
        _end(client, server)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


class RowStage:
    """A server with one crawl, and processes that have its rows."""

    def __init__(self, server: "RedisServer", proxy: ExecProxy) -> None:
        self.server = server
        self.proxy = proxy
        self.client: redis.Redis = server.client
        self.told: list[str] = []
        self._opened: list[RedisRows] = []

    def open(
        self,
        *,
        url: str | None = None,
        lead_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> RedisRows:
        """Connect, over the proxy, without the lead."""
        address = parse_address(url or self.proxy.url)
        rows = RedisRows(address, CRAWL, tell=self.told.append, lead_s=lead_s, clock=clock)
        self._opened.append(rows)
        return rows

    def lead(self, *, url: str | None = None, lead_s: float = 60.0) -> RedisRows:
        """Connect, take the lead, and load."""
        rows = self.open(url=url, lead_s=lead_s)
        rows.take_lead(0.0)
        assert list(rows.known_urls()) is not None
        return rows

    def begin(self, *, lead_s: float = 60.0) -> RedisRows:
        """Return the rows of a crawl with something in it."""
        rows = self.lead(lead_s=lead_s)
        changes = Changes()
        changes.hosts[1] = HostRow(id=1, key=HostKey("http://h"), domain="h")
        for one in (1, 2, 3):
            changes.urls[one] = url_row(one)
        changes.sent["up"] = [b"one", b"two", b"three"]
        send(rows, changes)
        return rows

    def everything(self) -> dict[str, object]:
        """Return what is in the server, but for the lead."""
        return {name: self._value(name) for name in self.names() if name != LEAD}

    def _value(self, name: str) -> object:
        match self.client.type(name):
            case b"hash":
                return self.client.hgetall(name)
            case b"zset":
                return self.client.zrange(name, 0, -1, withscores=True)
            case b"list":
                return self.client.lrange(name, 0, -1)
        return self.client.get(name)

    def dump(self) -> dict[str, bytes | None]:
        """Return what is in the server, to be restored, but for the lead."""
        return {name: self.client.dump(name) for name in self.names() if name != LEAD}

    def messages(self, name: str) -> list[bytes]:
        """Return the messages of a queue."""
        found = self.client.lrange(f"{PREFIX}messages:{name}", 0, -1)
        return [one for one in found if isinstance(one, bytes)]

    def names(self) -> set[str]:
        """Return the names of all keys."""
        return {name.decode() for name in self.client.scan_iter(count=1000)}

    def close(self) -> None:
        for rows in self._opened:
            rows.close()
        self.client.close()
        self.proxy.close()


def url_row(url_id: int, depth: int = 0) -> UrlRow:
    """Return a URL that is queued."""
    url, key = Url(f"http://h/{url_id}"), url_id.to_bytes(16, "big")
    return UrlRow(
        url_id, url, key, 1, UrlState.QUEUED, depth, 0, None, 1.0, score=float(url_id), queue=0
    )


def some_changes() -> Changes:
    """Return changes of every kind of command, which show if they are carried out twice."""
    changes = Changes()
    changes.urls[1] = url_row(1, depth=5)
    changes.urls[4] = url_row(4)
    changes.url_changes[2] = UrlChange(7, 1, 1, UrlState.TOO_DEEP)
    changes.links[1] = pack_links([2, 3])
    changes.metadata["name"] = b"value"
    changes.taken["up"] = 2
    changes.sent["down"] = [b"a", b"b"]
    return changes


def send(rows: RedisRows, changes: Changes) -> None:
    """Write changes, and have them sent."""
    sending = rows.write(changes)
    assert sending is not None
    sending()


def check_some_changes(stage: RowStage, rows: RedisRows) -> None:
    """Fail unless they were carried out once."""
    assert [row.depth for row in rows.read_urls([1, 2, 4])] == [5, 7, 0]
    assert rows.read_queue(1, 0, (float("-inf"), 0), 9) == [(1.0, 1), (3.0, 3), (4.0, 4)]
    assert stage.messages("up") == [b"three"]
    assert stage.messages("down") == [b"a", b"b"]
