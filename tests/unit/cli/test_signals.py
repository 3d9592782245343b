import asyncio
import os
import signal

import pytest

from gossamer.cli.signals import ECHO_S, run_until_signalled


class UnendingWork:
    """Work that never ends by itself."""

    is_working = True

    def __init__(self) -> None:
        self.stops = 0

    async def run(self) -> None:
        await asyncio.Event().wait()

    def stop(self) -> None:
        self.stops += 1


def test_a_signal_that_comes_twice_at_once_counts_once() -> None:
    work, said = UnendingWork(), list[str]()

    async def send() -> None:
        running = asyncio.create_task(run_until_signalled(work, said.append))
        await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(ECHO_S / 10)
        assert not running.done(), "the others are echoes of the first"
        loop.call_later(ECHO_S, os.kill, os.getpid(), signal.SIGTERM)
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(send())
    assert work.stops == 1
    assert said == ["finishing what is in progress; press Ctrl-C again to quit now"]
