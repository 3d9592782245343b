"""Starting and stopping the server of one crawl: found on the PATH, reached through a socket."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from redis import exceptions

from gossamer.errors import CrawlError
from gossamer.stores.own_redis import keeper
from gossamer.stores.own_redis.folder import OwnFolder
from gossamer.stores.redis.address import RedisAddress
from gossamer.stores.redis.nodes import connect

PROGRAMS = {"redis-server": (7, 0), "valkey-server": (7, 2)}
"""The programs that may be on the PATH, and the oldest version of each."""
SOCKET_BYTES = 100
"""How long the path of a Unix socket may be: systems allow 103 to 107."""
PARENT_BYTES = SOCKET_BYTES - len("/gossamer-12345678/socket")
LOAD_WITHIN_S = 900.0
STOP_WITHIN_S = keeper.STOP_WITHIN_S + 5
CHECK_EVERY_S = 0.01
SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "databases": "1",
    "daemonize": "no",
    "loglevel": "warning",
    "save": "",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "maxmemory-policy": "noeviction",
}
INSTALL = (
    "install one (apt install redis-server, dnf install valkey, brew install redis), or give the "
    "address of a running one: --store redis://HOST"
)


def find_program() -> str:
    """Return the server to start; a CrawlError says what to install."""
    too_old = []
    for name, oldest in PROGRAMS.items():
        path = shutil.which(name)
        version = _version_of(path) if path else ()
        if path and version >= oldest:
            return path
        if path:
            told = ".".join(map(str, version)) or "unknown"
            too_old.append(f"{path} has version {told}, {'.'.join(map(str, oldest))} is needed")
    why = "; ".join(too_old) or f"there is no {' or '.join(PROGRAMS)} on the PATH"
    raise CrawlError(f"the store redis: needs a Redis or Valkey, but {why}: {INSTALL}")


def _version_of(program: str) -> tuple[int, ...]:
    try:
        told = subprocess.run(  # noqa: S603 -- found on the PATH
            [program, "--version"], capture_output=True, text=True, check=False, timeout=10
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"v=(\d+)\.(\d+)\.(\d+)", told)
    return tuple(map(int, found.groups())) if found else ()


@asynccontextmanager
async def running_server(
    folder: OwnFolder, lock: int, program: str = "", *, only_read: bool = False
) -> AsyncIterator[RedisAddress]:
    """Have the server run, with the data of its folder; `lock` is taken over from the caller.

    `program` is the one to start, for whoever has found it already. If the last one has not stopped
    in order and this one is only read, that stays on record.
    """
    was_in_order = folder.in_order.exists()
    try:
        process, end, address = _start(
            folder, lock, program or find_program(), keep_record=only_read and not was_in_order
        )
    except OSError as error:
        raise CrawlError(f"cannot start a Redis in {folder.path}: {error.strerror}") from error
    finally:
        os.close(lock)  # the server has it
    try:
        await _await_answer(process, address, folder)
        yield address
    finally:
        with suppress(BrokenPipeError):  # the keeper was killed
            os.write(end, b"x")
        os.close(end)
        await _await_end(process)


def _start(
    folder: OwnFolder, lock: int, program: str, *, keep_record: bool
) -> tuple["subprocess.Popen[bytes]", int, RedisAddress]:
    """Start a keeper and the server; return the pipe whose end ends both."""
    folder.in_order.unlink(missing_ok=True)
    socket, temporary = _choose_socket(folder.path)
    folder.note_socket(socket)
    settings = {**SETTINGS, "unixsocket": str(socket), "dir": str(folder.path)}
    command = [program, *_words(settings)]
    mark = "" if keep_record else str(folder.in_order)
    needed, end = os.pipe()
    try:
        with folder.log.open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 -- found on the PATH
                [sys.executable, "-I", "-S", keeper.__file__, temporary, mark, str(lock), *command],
                stdin=needed,
                stdout=log,
                stderr=log,
                pass_fds=[lock],
                start_new_session=True,  # Ctrl-C is for us: it is needed to the end
            )
    except BaseException:
        os.close(end)
        raise
    finally:
        os.close(needed)
    return process, end, RedisAddress(socket=str(socket))


def _choose_socket(folder: Path) -> tuple[Path, str]:
    """Return the path of the socket, and the folder that was made for it, if any.

    Only its owner can enter either folder. The path of a crawl may be too long for a socket, or one
    that no address can name.
    """
    inside = folder / "socket"
    name = os.fsencode(inside)
    if len(name) <= SOCKET_BYTES and name.isascii():
        inside.unlink(missing_ok=True)
        return inside, ""
    for parent in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108 -- in a folder of its own
        if parent and len(os.fsencode(parent)) <= PARENT_BYTES and os.access(parent, os.W_OK):
            made = tempfile.mkdtemp(prefix="gossamer-", dir=parent)
            return Path(made, "socket"), made
    raise CrawlError(
        f"the path of {folder} is too long for a Unix socket, and so are those of the temporary "
        "folders: set TMPDIR to a shorter one"
    )


def _words(settings: dict[str, str]) -> Iterator[str]:
    for name, value in settings.items():
        yield f"--{name}"
        yield value


async def _await_answer(
    process: "subprocess.Popen[bytes]", address: RedisAddress, folder: OwnFolder
) -> None:
    """Return when the server has loaded its data; a CrawlError says why it did not start."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + LOAD_WITHIN_S
    while loop.time() < give_up_at and process.poll() is None:
        try:
            async with connect(address) as client:
                await client.ping()
        except (exceptions.RedisError, OSError, RuntimeError):
            await asyncio.sleep(CHECK_EVERY_S)
        else:
            return
    said = folder.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = said[-1].partition(" # ")[2] or said[-1] if said else "it said nothing"
    raise CrawlError(f"the Redis of this crawl did not start ({last}): see {folder.log}")


async def _await_end(process: "subprocess.Popen[bytes]") -> None:
    with suppress(subprocess.TimeoutExpired):  # the keeper kills it
        await asyncio.to_thread(process.wait, STOP_WITHIN_S)
