"""The Redis that a crawl has for itself (`--store redis:`): started, and reached, in its directory.

The server is found on the PATH and reached through a Unix socket. Whoever works on the crawl, or
reads it while nobody does, locks its folder and starts it, again if it dies. On Linux the server
has the lock too, and ends with the thread that started it, also if that is killed; elsewhere the
one who has the lock next ends what is left of it.
"""

import asyncio
import ctypes
import fcntl
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from redis import Redis
from redis.exceptions import RedisError

from gossamer.config import StoreAddress
from gossamer.model.errors import CrawlError, UsageError
from gossamer.stores.crawl_views import ReadRequest
from gossamer.stores.directory import (
    DATABASE,
    REDIS_FOLDER,
    CrawlDirectory,
    find_crawl,
    is_locked,
    is_own_redis,
    make_folder,
)
from gossamer.stores.reader import CrawlReader
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.connection import connect
from gossamer.stores.redis.crawls import crawl_names
from gossamer.stores.redis.row_keys import RowKeys
from gossamer.stores.redis.rows import open_redis_reader

SETTINGS = (
    "--port 0 --unixsocketperm 700 --databases 1 --loglevel warning --logfile log --appendonly yes "
    "--appendfsync everysec --maxmemory-policy noeviction --unixsocket"
)
SOCKET_BYTES = 100
"""How long the path of a Unix socket may be: systems allow 103 to 107."""
PR_SET_PDEATHSIG = 1
FREE_WITHIN_S, LEAVE_WITHIN_S, STOP_WITHIN_S = 60.0, 5.0, 20.0
"""How long whoever has the server, those who have joined, and the server itself are waited for."""
CHECK_EVERY_S = 0.05


@asynccontextmanager
async def open_own_redis_reader(request: ReadRequest) -> AsyncIterator[CrawlReader]:
    """Read a crawl, from the server that runs, or from one that is started for that."""
    directory = find_crawl(request.directory, Path())
    if not is_own_redis(directory):
        raise UsageError(f"there is no crawl with a Redis of its own in {directory}")
    async with AsyncExitStack() as stack:
        running = await await_running(directory)
        if (address := running) is None:
            address = await stack.enter_async_context(_started(directory))
        store = StoreAddress("redis", url=address.url())
        request = replace(request, address=store, directory=directory)
        async with open_redis_reader(request, may_be_led=running is not None) as crawl:
            yield crawl


async def await_running(directory: Path) -> RedisAddress | None:
    """Return the server of a crawl that is running, or is about to; None: none is."""
    while is_locked(directory) and not (directory / DATABASE).exists():
        if await _answers(directory, Redis.ping):
            return _address(directory)
        await asyncio.sleep(CHECK_EVERY_S)
    return None


@asynccontextmanager
async def owned(
    directory: Path | None, name: str, *, fresh: bool = False
) -> AsyncIterator[tuple[CrawlDirectory, StoreAddress]]:
    """Start the server, and forget who led the crawl: the lock of the directory is ours."""
    _find_program()  # before anything is made
    with CrawlDirectory(directory) as locked:
        if locked.database.exists():
            raise UsageError(f"{locked.path} holds a crawl in a file: leave out --store redis:")
        folder = make_folder(locked.path)
        if fresh:
            shutil.rmtree(folder / "appendonlydir", ignore_errors=True)
        async with _started(locked.path) as address:
            if others := {*await asyncio.to_thread(crawl_names, address)} - {name}:
                what = f"{locked.path} holds the crawl {min(others)}"
                raise UsageError(f"{what}: give its seed or --name, another --dir, or --fresh")
            await _answers(locked.path, lambda client: client.delete(RowKeys(name).lead))
            yield locked, StoreAddress("redis", url=address.url())


async def wait_for_others(directory: Path) -> None:
    """Wait a moment for those who have joined: they are to learn that the crawl is over."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LEAVE_WITHIN_S):
            while await _answers(directory, lambda client: len(client.client_list()) > 1):  # noqa: ASYNC110 -- there is no event
                await asyncio.sleep(CHECK_EVERY_S)


@asynccontextmanager
async def _started(directory: Path) -> AsyncIterator[RedisAddress]:
    """Have the server run, and again if it dies."""
    with directory.joinpath(REDIS_FOLDER, "lock").open("ab") as lock:
        await _take(lock.fileno(), directory)
        await _answers(directory, Redis.shutdown)
        socket = _place_socket(directory)
        start = partial(_start, socket, directory / REDIS_FOLDER, lock.fileno())
        process = start()

        async def restart() -> None:
            nonlocal process
            while True:
                await asyncio.sleep(1)
                if process.poll() is not None:
                    process = start()

        restarting = asyncio.create_task(restart())
        try:
            while not await _answers(directory, Redis.ping):
                if process.poll() is not None:
                    log = directory / REDIS_FOLDER / "log"
                    why = log.read_text(errors="replace").rpartition(" # ")[2].strip()
                    raise CrawlError(f"the Redis of this crawl did not start ({why}): see {log}")
                await asyncio.sleep(CHECK_EVERY_S)
            yield _address(directory)
        finally:
            restarting.cancel()
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, STOP_WITHIN_S)
            process.kill()
            if socket.parent.name != REDIS_FOLDER:
                shutil.rmtree(socket.parent, ignore_errors=True)


async def _take(lock: int, directory: Path) -> None:
    """Take the lock; another command that reads the crawl, or a server that ends, may have it."""
    for _ in range(int(FREE_WITHIN_S / CHECK_EVERY_S)):
        with suppress(BlockingIOError):
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        await asyncio.sleep(CHECK_EVERY_S)
    raise CrawlError(f"another process uses the Redis in {directory}: wait until it has ended")


def _place_socket(directory: Path) -> Path:
    """Return where the server is to listen: in its folder, or where a link leads that is short."""
    socket = directory.resolve() / REDIS_FOLDER / "socket"
    socket.unlink(missing_ok=True)
    if len(str(socket)) > SOCKET_BYTES or not str(socket).isascii():
        socket.symlink_to(Path(tempfile.mkdtemp(prefix="gossamer-"), "socket"))
    return socket.resolve()


def _start(socket: Path, folder: Path, lock: int) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own: Ctrl-C is for us, it is needed to the end."""
    on_linux = sys.platform == "linux"
    end = partial(ctypes.PyDLL(None).prctl, PR_SET_PDEATHSIG, signal.SIGTERM) if on_linux else None
    with (folder / "log").open("ab") as log:  # also for what goes wrong before it has opened that
        return subprocess.Popen(  # noqa: S603 -- found on the PATH
            [_find_program(), "--save", "", *SETTINGS.split(), str(socket)],
            cwd=folder,
            stderr=log,
            umask=0o077,
            start_new_session=True,
            pass_fds=[lock] if on_linux else [],
            preexec_fn=end,  # noqa: PLW1509
        )


def _find_program() -> str:
    if program := shutil.which("redis-server") or shutil.which("valkey-server"):
        return program
    why = "there is no redis-server or valkey-server on the PATH: install one"
    how = "(apt install redis-server, dnf install valkey, brew install redis)"
    raise CrawlError(f"{why} {how}, or name one that runs: --store redis://HOST")


async def _answers(directory: Path, ask: Callable[[Redis], object]) -> bool:
    """Return what the server says, as a truth; False: none runs, or it has ended of it."""

    def answer() -> bool:
        with suppress(RedisError, OSError), connect(_address(directory), STOP_WITHIN_S) as client:
            return bool(ask(client))
        return False

    return await asyncio.to_thread(answer)


def _address(directory: Path) -> RedisAddress:
    return RedisAddress(socket=str((directory / REDIS_FOLDER / "socket").resolve()))
