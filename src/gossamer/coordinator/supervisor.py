"""The processes that one command starts for a shared crawl on this machine."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import msgspec

from gossamer.errors import CrawlError
from gossamer.stores.opening import Say

GRACE_S = 60.0
"""How long a process may take to finish what it has in progress."""
MOST_FALLS = 5
"""How often in a row a process may die soon after its start."""
SOON_S = 20.0
"""A process that has lived longer was in good health, and is replaced as often as it dies."""


class ProcessSpec(msgspec.Struct, frozen=True):
    """Who is to be started: what people call it, and the arguments of `gossamer`."""

    name: str
    arguments: Sequence[str]


SpecFactory = Callable[[], Awaitable[ProcessSpec]]


class ManagedProcess(msgspec.Struct, eq=False, kw_only=True):
    """A place in the supervisor: a process that is replaced when it dies."""

    spec: SpecFactory
    needed: bool
    """Whether it is replaced also when it has ended in order, before the crawl has."""
    name: str = ""
    process: asyncio.subprocess.Process | None = None
    """None between two processes."""
    started: float = 0.0
    falls: int = 0
    relay: "asyncio.Task[None] | None" = None


class Supervisor:
    """Starts processes, replaces those that die, and sees them off.

    They leave by themselves when this process is gone, however it went.
    """

    def __init__(self, environment: dict[str, str], say: Say) -> None:
        self._environment = environment
        self._say = say
        self._processes: list[ManagedProcess] = []

    async def add(self, spec: SpecFactory, *, needed: bool = False) -> None:
        """Fill a place; `spec` is asked again for everyone who comes after."""
        managed = ManagedProcess(spec=spec, needed=needed)
        self._processes.append(managed)
        await self._start(managed)

    async def check(self) -> None:
        """Replace who has died; a CrawlError if somebody keeps dying."""
        for managed in self._processes:
            if managed.process is not None and managed.process.returncode is not None:
                self._note_end(managed, managed.process.returncode)
            if managed.process is None:
                with suppress(CrawlError):  # the store is away: asked again the next time
                    await self._start(managed)

    def stop(self) -> None:
        """Ask everybody to finish what is in progress."""
        self._signal(signal.SIGTERM)

    async def see_off(self, grace_s: float = GRACE_S) -> None:
        """Wait for everybody to end; who takes too long is ended."""
        waits = [
            asyncio.create_task(managed.process.wait())
            for managed in self._processes
            if managed.process
        ]
        if waits:
            _, late = await asyncio.wait(waits, timeout=grace_s)
            if late:
                self._signal(signal.SIGKILL)
                await asyncio.wait(waits)
        relays = [managed.relay for managed in self._processes if managed.relay]
        await asyncio.gather(*relays, return_exceptions=True)

    def _note_end(self, managed: ManagedProcess, code: int) -> None:
        """Make room for a successor where one is wanted."""
        if code == 0:
            if managed.needed:
                managed.process = None
            return
        lived_s = asyncio.get_running_loop().time() - managed.started
        managed.falls = managed.falls + 1 if lived_s < SOON_S else 1
        how = _ending(code)
        if managed.falls > MOST_FALLS:
            raise CrawlError(f"{managed.name} keeps dying, the last time {how}: see what it said")
        self._say("warning", f"{managed.name} died ({how}) and is replaced")
        managed.process = None

    def _signal(self, number: signal.Signals) -> None:
        for managed in self._processes:
            if managed.process is not None and managed.process.returncode is None:
                managed.process.send_signal(number)

    async def _start(self, managed: ManagedProcess) -> None:
        spec = await managed.spec()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gossamer", *spec.arguments, "--attached"),
            env={**os.environ, **self._environment},
            stdin=asyncio.subprocess.PIPE,  # nothing is said there; it ends when we do
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl-C is for whoever started them, who then tells them.
            start_new_session=True,
        )
        managed.name, managed.process = spec.name, process
        managed.started = asyncio.get_running_loop().time()
        managed.relay = asyncio.create_task(self._hear(spec.name, process))

    async def _hear(self, name: str, process: asyncio.subprocess.Process) -> None:
        """Pass on what a process has to say."""
        assert process.stderr is not None
        while not process.stderr.at_eof():
            try:
                line = await process.stderr.readline()
            except ValueError:  # no line of words, and already thrown away
                continue
            if words := line.decode(errors="replace").rstrip():
                self._say("warning", f"{name}: {words}")


def _ending(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
